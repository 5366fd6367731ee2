"""Logs and counts calls, and gives each a request ID."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...config import Network
from ...observability.request_record import RequestRecord, current, enter
from ...observability.request_stats import RequestStats
from .. import caller
from ..messages import Context
from .base import Call, Interceptor
from .client_address import client_address_of

REQUEST_ID = "x-request-id"
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Observe(Interceptor):
    """Runs first: sets the request ID and the client address, counts the call and logs it.

    `proxies` are the trusted networks. The line has the rpc, account, API key with its name, client
    address, status, duration and the sizes of request and response; never a secret or subscriber
    data. A call over HTTP from the same process is added to the
    record of its HTTP request, and the gateway writes the line.
    """

    def __init__(self, stats: RequestStats, proxies: Sequence[Network] = ()) -> None:
        self._stats = stats
        self._proxies = tuple(proxies)

    def intercept(self, call: Call) -> None:
        self._stats.rpcs_running += 1
        record = current() or _new_record()
        call.done_callbacks.append(partial(self._end, record, time.perf_counter()))
        if record.method:
            set_request_id(call.context, record.request_id)
        else:
            record.request_id = enter_request(call.context, call.metadata)
        call.client_address = record.client_address = client_address_of(call, self._proxies)
        caller.enter_client(call.client_address)

    def wrap(self, handler: Any) -> Any:
        return handler._replace(
            request_deserializer=_count_received(handler.request_deserializer),
            response_serializer=_count_sent(handler.response_serializer),
        )

    def _end(self, record: RequestRecord, started: float, call: Call) -> None:
        name = call.method.name
        record.code, record.caller = call.status(), call.caller
        self._stats.count_rpc(name, record.code, time.perf_counter() - started)
        if not record.method:
            record.route = name
            self._stats.finish(record)


def _new_record() -> RequestRecord:
    record = RequestRecord()
    enter(record)
    return record


def _count_received(deserialize: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Counts bytes from a socket. The first message of a call is read before `intercept`."""

    def read(data: bytes) -> Any:
        record = current() or _new_record()
        record.received += len(data)
        return deserialize(data)

    return read


def _count_sent(serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Counts bytes to a socket. A unary response is written after the end of the call."""

    def write(message: Any) -> bytes:
        data = serialize(message)
        record = current()
        if record is not None:
            record.sent += len(data)
        return data

    return write


def enter_request(context: Context, metadata: Any) -> str:
    """Returns the request ID of the call, or a new one, and sends it to the client."""
    request_id = request_id_of(metadata) or secrets.token_hex(16)
    set_request_id(context, request_id)
    return request_id


def set_request_id(context: Context, request_id: str) -> None:
    """Sets the request ID of the call, and sends it to the client."""
    caller.enter_request(request_id)
    context.set_trailing_metadata(((REQUEST_ID, request_id),))


def request_id_of(metadata: Any) -> str | None:
    """Returns the request ID that the client sent, if it is valid."""
    for name, value in metadata:
        if name == REQUEST_ID and isinstance(value, str) and _VALID_REQUEST_ID.fullmatch(value):
            return value
    return None
