"""Imports and exports, whichever front carries them, and in either form.

Rows are NDJSON over HTTP and messages over gRPC; a table is CSV over HTTP and lines
in messages over gRPC. What comes back is the same.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import grpc
from google.protobuf import json_format
from roster.v1 import http_pb2
from roster.v1 import subscribers_pb2 as pb

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, Response, error_response, to_json

Row = dict[str, Any]
# How many rows or lines a message may hold.
AT_ONCE = 1_000


@dataclass(frozen=True)
class Streamed:
    """The records that came, as JSON or as cells, and the error that ended them, if one did."""

    records: list[Any]
    error: Response | None = None


def import_rows(account: Account, rows: Sequence[Any], **options: Any) -> list[Row]:
    """Imports rows, expects that the import comes to its end, and returns the results."""
    return _whole(send_rows(account, rows, **options))


def import_table(account: Account, text: str, **options: Any) -> list[Row]:
    """Imports a table, expects that the import comes to its end, and returns the results."""
    return _whole(send_table(account, text, **options))


def send_rows(account: Account, rows: Sequence[Any], **options: Any) -> Streamed:
    """Imports rows and returns whatever came. Over gRPC they are objects."""
    if isinstance(account.front, HttpFront):
        body = "".join(f"{json.dumps(row)}\n" for row in rows)
        return _post(account, "application/x-ndjson", body, options)
    return _stream_in(account, rows, "rows", options)


def send_table(account: Account, text: str, **options: Any) -> Streamed:
    """Imports a table, which is CSV with commas, and returns whatever came."""
    if isinstance(account.front, HttpFront):
        return _post(account, "text/csv", text, options)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines = [{"number": reader.line_num, "cells": cells} for cells in reader]
    return _stream_in(account, lines, "lines", options)


def export(account: Account, **asked: Any) -> list[Row]:
    """Exports subscribers and returns them."""
    return _whole(send_export(account, **asked))


def export_table(account: Account, **asked: Any) -> list[list[str]]:
    """Exports subscribers as a table and returns its lines."""
    return _whole(send_export(account, format="CSV", **asked))


def send_export(account: Account, **asked: Any) -> Streamed:
    """Exports and returns whatever came: subscribers, or the cells of lines."""
    if isinstance(account.front, HttpFront):
        path = f"/api/subscribers/export?{urlencode(asked)}"
        status, headers, body = account.front.exchange("GET", path, account.key)
        if headers["content-type"].startswith("text/csv"):
            return Streamed(list(csv.reader(io.StringIO(body.decode(), newline=""))))
        return _read(status, body)
    assert isinstance(account.front, GrpcFront)
    call = account.front.channel.unary_stream(
        "/roster.v1.SubscriberService/ExportSubscribers",
        request_serializer=pb.ExportSubscribersRequest.SerializeToString,
        response_deserializer=pb.ExportSubscribersResponse.FromString,
    )
    request = json_format.ParseDict(asked, pb.ExportSubscribersRequest())
    return _collected(call(request, metadata=_metadata(account), timeout=20))


def written_table(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Returns lines of cells as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _whole(streamed: Streamed) -> list[Any]:
    assert streamed.error is None, streamed.error
    return streamed.records


def _post(account: Account, content_type: str, text: str, options: Row) -> Streamed:
    assert isinstance(account.front, HttpFront)
    status, _, body = account.front.exchange(
        "POST",
        f"/api/subscribers/import?{urlencode(options)}",
        account.key or None,
        body=text.encode(),
        headers={"Content-Type": content_type},
    )
    return _read(status, body)


def _read(status: int, body: bytes) -> Streamed:
    if status >= 400:
        return Streamed([], Response(status, json.loads(body)))
    assert status == 200
    records = [json.loads(line) for line in body.splitlines()]
    if records and "error" in records[-1]:
        return Streamed(records[:-1], Response(status, records[-1]))
    return Streamed(records)


def _stream_in(account: Account, items: Sequence[Any], name: str, options: Row) -> Streamed:
    assert isinstance(account.front, GrpcFront)
    call = account.front.channel.stream_stream(
        "/roster.v1.SubscriberService/ImportSubscribers",
        request_serializer=pb.ImportSubscribersRequest.SerializeToString,
        response_deserializer=pb.ImportSubscribersResponse.FromString,
    )
    requests = [
        json_format.ParseDict(
            {**(options if first == 0 else {}), name: items[first : first + AT_ONCE]},
            pb.ImportSubscribersRequest(),
        )
        for first in range(0, len(items), AT_ONCE)
    ]
    return _collected(call(iter(requests), metadata=_metadata(account), timeout=20))


def _metadata(account: Account) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {account.key}"),) if account.key else ()


def _collected(replies: Iterator[Any]) -> Streamed:
    records: list[Any] = []
    try:
        for reply in replies:
            records += _records(reply)
    except grpc.RpcError as error:
        return Streamed(records, error_response(error))
    return Streamed(records)


def _records(reply: Any) -> list[Any]:
    """Returns what a reply holds; of an export, lines or subscribers."""
    if isinstance(reply, pb.ImportSubscribersResponse):
        return list(to_json(reply)["results"])
    lines: Sequence[http_pb2.CsvLine] = reply.lines
    return [list(line.cells) for line in lines] or list(to_json(reply)["subscribers"])
