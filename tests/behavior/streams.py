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
from typing import Any, NamedTuple
from urllib.parse import urlencode

import grpc
from google.protobuf import json_format

from roster.v1 import audit_pb2, http_pb2, subscribers_pb2, suppressions_pb2

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, Response, SessionToken, error_response, to_json

Row = dict[str, Any]


class Rpc(NamedTuple):
    """A streaming rpc; `field` is that of its rows."""

    name: str
    path: str
    pb: Any
    field: str


IMPORT = Rpc(
    "SubscriberService/ImportSubscribers",
    "/api/subscribers/import",
    subscribers_pb2,
    "subscribers",
)
EXPORT = IMPORT._replace(name="SubscriberService/ExportSubscribers", path="/api/subscribers/export")
IMPORT_SUPPRESSIONS = Rpc(
    "SuppressionService/ImportSuppressions",
    "/api/suppressions/import",
    suppressions_pb2,
    "suppressions",
)
EXPORT_SUPPRESSIONS = IMPORT_SUPPRESSIONS._replace(
    name="SuppressionService/ExportSuppressions", path="/api/suppressions/export"
)
EXPORT_AUDIT = Rpc("AuditService/ExportAuditEntries", "/api/audit/export", audit_pb2, "entries")
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


def send_rows(
    account: Account, rows: Sequence[Any], rpc: Rpc = IMPORT, **options: Any
) -> StreamResult:
    """Imports rows. Over gRPC, they must be objects."""
    if isinstance(account.front, HttpFront):
        body = "".join(f"{json.dumps(row)}\n" for row in rows)
        return send_body(account, "application/x-ndjson", body.encode(), options, rpc)
    return _import_over_grpc(account, rows, rpc.field, options, rpc)


def send_table(account: Account, text: str, rpc: Rpc = IMPORT, **options: Any) -> StreamResult:
    """Imports a table in CSV with commas."""
    if isinstance(account.front, HttpFront):
        return send_body(account, "text/csv", text.encode(), options, rpc)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    lines = [{"number": reader.line_num, "cells": cells} for cells in reader]
    return _import_over_grpc(account, lines, "lines", options, rpc)


def send_lines(
    account: Account, text: str, lines: list[Row], rpc: Rpc = IMPORT, **options: Any
) -> StreamResult:
    """Imports a text in CSV over HTTP, or the lines that the gateway makes of it over gRPC."""
    if isinstance(account.front, HttpFront):
        return send_body(account, "text/csv", text.encode(), options, rpc)
    return _import_over_grpc(account, lines, "lines", options, rpc)


def export(account: Account, rpc: Rpc = EXPORT, **options: Any) -> list[Row]:
    """Exports subscribers, suppressions or audit entries as rows."""
    return _records_of(send_export(account, rpc, **options))


def export_table(account: Account, rpc: Rpc = EXPORT, **options: Any) -> list[list[str]]:
    """Exports subscribers or suppressions as the cells of a table."""
    return _records_of(send_export(account, rpc, format="CSV", **options))


def send_export(account: Account, rpc: Rpc = EXPORT, **options: Any) -> StreamResult:
    """Exports subscribers or suppressions as rows, or as the cells of a table."""
    if isinstance(account.front, HttpFront):
        path = f"{rpc.path}?{_query(options)}"
        status, headers, body = account.front.exchange("GET", path, account.key)
        if headers["content-type"].startswith("text/csv"):
            return StreamResult(list(csv.reader(io.StringIO(body.decode(), newline=""))))
        return _read(status, body)
    assert isinstance(account.front, GrpcFront)
    request_type, response_type = _types(rpc)
    call = account.front.channel.unary_stream(
        f"/roster.v1.{rpc.name}",
        request_serializer=request_type.SerializeToString,
        response_deserializer=response_type.FromString,
    )
    request = json_format.ParseDict(options, request_type())
    return _collected(call(request, metadata=_metadata(account), timeout=20))


def written_table(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Returns the cells as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _records_of(streamed: StreamResult) -> list[Any]:
    assert streamed.error is None, streamed.error
    return streamed.records


def send_body(
    account: Account, content_type: str, body: bytes, options: Row, rpc: Rpc = IMPORT
) -> StreamResult:
    """Imports a body over HTTP."""
    assert isinstance(account.front, HttpFront)
    status, _, response = account.front.exchange(
        "POST",
        f"{rpc.path}?{_query(options)}",
        account.key or None,
        body=body,
        headers={"Content-Type": content_type},
    )
    return _read(status, response)


def _query(options: Row) -> str:
    booleans = {True: "true", False: "false"}
    texts = {
        name: booleans[value] if isinstance(value, bool) else value
        for name, value in options.items()
    }
    return urlencode(texts, doseq=True)


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
    account: Account, items: Sequence[Any], name: str, options: Row, rpc: Rpc
) -> StreamResult:
    messages = (
        {**(options if first == 0 else {}), name: items[first : first + PER_MESSAGE]}
        for first in range(0, max(len(items), 1), PER_MESSAGE)
    )
    return send_messages(account, messages, rpc)


def send_messages(account: Account, messages: Iterable[Row], rpc: Rpc = IMPORT) -> StreamResult:
    """Imports messages over gRPC. They can wait for something, but not for their results."""
    assert isinstance(account.front, GrpcFront)
    request_type, response_type = _types(rpc)
    call = account.front.channel.stream_stream(
        f"/roster.v1.{rpc.name}",
        request_serializer=request_type.SerializeToString,
        response_deserializer=response_type.FromString,
    )
    requests = (json_format.ParseDict(message, request_type()) for message in messages)
    return _collected(call(requests, metadata=_metadata(account), timeout=20))


def _types(rpc: Rpc) -> tuple[Any, Any]:
    """Returns the request and the response message."""
    name = rpc.name.partition("/")[2]
    return getattr(rpc.pb, f"{name}Request"), getattr(rpc.pb, f"{name}Response")


def _metadata(account: Account) -> tuple[tuple[str, str], ...]:
    if isinstance(account.key, SessionToken):
        return (("session", str(account.key)),)
    return (("authorization", f"Bearer {account.key}"),) if account.key else ()


def _collected(replies: Iterator[Any]) -> StreamResult:
    records: list[Any] = []
    summary = None
    try:
        for reply in replies:
            records += _records(reply)
            if hasattr(reply, "summary") and reply.HasField("summary"):
                summary = to_json(reply)["summary"]
    except grpc.RpcError as error:
        return StreamResult(records, error_response(error))
    return StreamResult(records, summary=summary)


def _records(reply: Any) -> list[Any]:
    if hasattr(reply, "results"):
        return list(to_json(reply)["results"])
    lines: Sequence[http_pb2.CsvLine] = getattr(reply, "lines", ())
    fields = ("subscribers", "suppressions", "entries")
    record_field = next(name for name in fields if hasattr(reply, name))
    return [list(line.cells) for line in lines] or list(to_json(reply)[record_field])
