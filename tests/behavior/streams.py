"""Imports and exports over any front, as rows or as tables.

Over HTTP, rows are NDJSON and a table is CSV. Over gRPC, rows are messages and a table is a series
of CsvLine messages. The results are the same.
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
# The number of rows or lines in one message.
PER_MESSAGE = 1_000


@dataclass(frozen=True)
class StreamResult:
    """The received records, as JSON or as cells, and the error that ended the stream, if any.

    The summary of an import is not one of the records.
    """

    records: list[Any]
    error: Response | None = None
    summary: Row | None = None


def import_rows(account: Account, rows: Sequence[Any], **options: Any) -> list[Row]:
    """Imports rows, expects the stream to succeed, and returns the results."""
    return _records_of(send_rows(account, rows, **options))


def import_table(account: Account, text: str, **options: Any) -> list[Row]:
    """Imports a table, expects the stream to succeed, and returns the results."""
    return _records_of(send_table(account, text, **options))


def send_rows(account: Account, rows: Sequence[Any], **options: Any) -> StreamResult:
    """Imports rows. Over gRPC, they must be objects."""
    if isinstance(account.front, HttpFront):
        body = "".join(f"{json.dumps(row)}\n" for row in rows)
        return send_body(account, "application/x-ndjson", body.encode(), options)
    return _import_over_grpc(account, rows, "subscribers", options)


def send_table(account: Account, text: str, **options: Any) -> StreamResult:
    """Imports a table in CSV with commas."""
    if isinstance(account.front, HttpFront):
        return send_body(account, "text/csv", text.encode(), options)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines = [{"number": reader.line_num, "cells": cells} for cells in reader]
    return _import_over_grpc(account, lines, "lines", options)


def export(account: Account, **options: Any) -> list[Row]:
    """Exports subscribers as rows."""
    return _records_of(send_export(account, **options))


def export_table(account: Account, **options: Any) -> list[list[str]]:
    """Exports subscribers as the cells of a table."""
    return _records_of(send_export(account, format="CSV", **options))


def send_export(account: Account, **options: Any) -> StreamResult:
    """Exports subscribers as rows, or as the cells of a table."""
    if isinstance(account.front, HttpFront):
        path = f"/api/subscribers/export?{urlencode(options)}"
        status, headers, body = account.front.exchange("GET", path, account.key)
        if headers["content-type"].startswith("text/csv"):
            return StreamResult(list(csv.reader(io.StringIO(body.decode(), newline=""))))
        return _read(status, body)
    assert isinstance(account.front, GrpcFront)
    call = account.front.channel.unary_stream(
        "/roster.v1.SubscriberService/ExportSubscribers",
        request_serializer=pb.ExportSubscribersRequest.SerializeToString,
        response_deserializer=pb.ExportSubscribersResponse.FromString,
    )
    request = json_format.ParseDict(options, pb.ExportSubscribersRequest())
    return _collected(call(request, metadata=_metadata(account), timeout=20))


def written_table(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Returns the cells as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _records_of(streamed: StreamResult) -> list[Any]:
    assert streamed.error is None, streamed.error
    return streamed.records


def send_body(account: Account, content_type: str, body: bytes, options: Row) -> StreamResult:
    """Imports a body over HTTP."""
    assert isinstance(account.front, HttpFront)
    query = {name: "true" if value is True else value for name, value in options.items()}
    status, _, response = account.front.exchange(
        "POST",
        f"/api/subscribers/import?{urlencode(query, doseq=True)}",
        account.key or None,
        body=body,
        headers={"Content-Type": content_type},
    )
    return _read(status, response)


def _read(status: int, body: bytes) -> StreamResult:
    if status >= 400:
        return StreamResult([], Response(status, json.loads(body)))
    assert status == 200
    records = [json.loads(line) for line in body.splitlines()]
    if records and "error" in records[-1]:
        return StreamResult(records[:-1], Response(status, records[-1]))
    if records and "summary" in records[-1]:
        return StreamResult(records[:-1], summary=records[-1]["summary"])
    return StreamResult(records)


def _import_over_grpc(
    account: Account, items: Sequence[Any], name: str, options: Row
) -> StreamResult:
    assert isinstance(account.front, GrpcFront)
    call = account.front.channel.stream_stream(
        "/roster.v1.SubscriberService/ImportSubscribers",
        request_serializer=pb.ImportSubscribersRequest.SerializeToString,
        response_deserializer=pb.ImportSubscribersResponse.FromString,
    )
    requests = [
        json_format.ParseDict(
            {**(options if first == 0 else {}), name: items[first : first + PER_MESSAGE]},
            pb.ImportSubscribersRequest(),
        )
        for first in range(0, max(len(items), 1), PER_MESSAGE)
    ]
    return _collected(call(iter(requests), metadata=_metadata(account), timeout=20))


def _metadata(account: Account) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {account.key}"),) if account.key else ()


def _collected(replies: Iterator[Any]) -> StreamResult:
    records: list[Any] = []
    summary = None
    try:
        for reply in replies:
            records += _records(reply)
            if isinstance(reply, pb.ImportSubscribersResponse) and reply.HasField("summary"):
                summary = to_json(reply)["summary"]
    except grpc.RpcError as error:
        return StreamResult(records, error_response(error))
    return StreamResult(records, summary=summary)


def _records(reply: Any) -> list[Any]:
    if isinstance(reply, pb.ImportSubscribersResponse):
        return list(to_json(reply)["results"])
    lines: Sequence[http_pb2.CsvLine] = reply.lines
    return [list(line.cells) for line in lines] or list(to_json(reply)["subscribers"])
