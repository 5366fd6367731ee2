"""The codec, compared with json_format: the messages of a page and a bulk in both directions.

Both start and end with text: the codec reads and writes bytes, json_format strings. They run
in turns, measured in processor time, and the median of the ratios counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import orjson
from google.protobuf import json_format
from google.protobuf.message import Message

from roster.v1 import subscribers_pb2 as pb
from rosterd.http_gateway.codec import strict_json
from rosterd.http_gateway.codec.transcode import reader, writer
from rosterd.http_gateway.request_errors import Violations
from rosterd.server.serving.gateway_policy import ANNOTATIONS

from .measurement import Rate, Stats, comparison, row

ROWS = 100
# The codec takes a tenth of the time of json_format. A turn of one run would measure cold caches.
TURNS, RUNS = 15, 25


def stats() -> Iterator[Stats]:
    """Yields messages per second in each direction, for typical rows."""
    bulk = json.dumps({"subscribers": [row() for _ in range(ROWS)]}).encode()
    request = _read(pb.BulkCreateSubscribersRequest, bulk)
    page = pb.ListSubscribersResponse(
        subscribers=[_stored(number, each) for number, each in enumerate(request.subscribers)],
        total=ROWS,
        page=1,
        limit=ROWS,
    )
    written = _write(page)
    for name, message, body in (("page", page, written), ("bulk", request, bulk)):
        kind, text = type(message), body.decode()
        writing = partial(_write, message), partial(_write_json_format, message)
        reading = partial(_read, kind, body), partial(_read_json_format, kind, text)
        yield _compared(f"write_{name}_of_{ROWS}", *writing)
        yield _compared(f"read_{name}_of_{ROWS}", *reading)


def _stored(number: int, row: Any) -> Any:
    """Returns a row as the service stores it."""
    subscriber = pb.Subscriber(
        id=f"01M7Y2MPAQ{number:016}",
        email=row.email,
        first_name=row.first_name,
        last_name=row.last_name,
        status=pb.Subscriber.Status.CONFIRMED,
        tags=row.tags,
    )
    subscriber.created_at.FromMilliseconds(1_767_000_000_000 + 37 * number)
    subscriber.custom_fields.SetInParent()
    return subscriber


def _read(kind: type[Message], body: bytes) -> Any:
    message, faults = kind(), Violations()
    reader(kind.DESCRIPTOR, annotations=ANNOTATIONS)(strict_json.loads(body), "", faults, message)
    assert not faults
    return message


def _write(message: Message) -> bytes:
    return orjson.dumps(writer(message.DESCRIPTOR, annotations=ANNOTATIONS)(message))


def _read_json_format(kind: type[Message], text: str) -> Message:
    return json_format.Parse(text, kind())


def _write_json_format(message: Message) -> str:
    return json_format.MessageToJson(message, always_print_fields_with_no_presence=True)


def _compared(name: str, roster: Callable[[], Any], baseline: Callable[[], Any]) -> Stats:
    pairs = [(_rate(roster), _rate(baseline)) for _ in range(TURNS)]
    return comparison(name, *zip(*pairs, strict=True))


def _rate(work: Callable[[], Any]) -> Rate:
    started = time.process_time()
    for _ in range(RUNS):
        work()
    return Rate(RUNS / (time.process_time() - started))
