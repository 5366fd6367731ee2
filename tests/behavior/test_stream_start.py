"""A streamed response starts when its call is accepted, before the first record."""

from __future__ import annotations

import http.client
import json
import queue
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from google.protobuf import json_format, message_factory

from ..conftest import Account
from ..fronts import METHODS, GrpcFront, HttpFront

EXPORT, TAIL, IMPORT = "ExportSubscribers", "TailWebhookDeliveries", "ImportSubscribers"
PATHS = {
    EXPORT: "/api/subscribers/export",
    TAIL: "/api/webhook-deliveries/tail",
    IMPORT: "/api/subscribers/import",
}
# Only a failing test waits this long.
TIMEOUT = 60


@contextmanager
def open_request(account: Account, method: str, path: str) -> Iterator[http.client.HTTPConnection]:
    """Sends the headers of a request. The test sends the body and reads the response."""
    assert isinstance(account.front, HttpFront)
    with closing(http.client.HTTPConnection(account.front.address, timeout=TIMEOUT)) as connection:
        connection.putrequest(method, path)
        connection.putheader("Authorization", f"Bearer {account.key}")
        if method == "POST":
            connection.putheader("Content-Type", "text/csv")
            connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        yield connection


def call_over_grpc(
    account: Account, rpc: str, requests: Iterator[Any] | None = None, **fields: Any
) -> Any:
    """Makes a streaming call with one request, or with the requests of an iterator."""
    assert isinstance(account.front, GrpcFront)
    method = METHODS[rpc]
    request = json_format.ParseDict(fields, message_factory.GetMessageClass(method.input_type)())
    channel = account.front.channel
    multi_callable: Any = (channel.stream_stream if requests else channel.unary_stream)(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
    )
    metadata = [("authorization", f"Bearer {account.key}"), ("x-request-id", "abc")]
    return multi_callable(requests or request, metadata=metadata, timeout=TIMEOUT)


def test_tail_starts_before_the_first_attempt(account: Account) -> None:
    if isinstance(account.front, GrpcFront):
        call = call_over_grpc(account, TAIL)
        assert dict(call.initial_metadata())["x-request-id"] == "abc"
        call.cancel()
        return
    with open_request(account, "GET", PATHS[TAIL]) as connection:
        response = connection.getresponse()
        assert response.status == 200
        assert response.headers["content-type"] == "application/x-ndjson"
    with open_request(account, "HEAD", PATHS[TAIL]) as connection:
        assert connection.getresponse().status == 200


@pytest.mark.parametrize(
    ("form", "content_type"),
    [("NDJSON", "application/x-ndjson"), ("CSV", "text/csv; charset=utf-8")],
)
def test_empty_export_starts_immediately(account: Account, form: str, content_type: str) -> None:
    if isinstance(account.front, GrpcFront):
        call = call_over_grpc(account, EXPORT, format=form)
        assert dict(call.initial_metadata())["x-request-id"] == "abc"
        assert len(list(call)) == (form == "CSV")
        return
    with open_request(account, "GET", f"{PATHS[EXPORT]}?format={form}") as connection:
        response = connection.getresponse()
        assert (response.status, response.headers["content-type"]) == (200, content_type)
        response.read()


def test_import_starts_once_its_header_is_read(account: Account) -> None:
    if isinstance(account.front, GrpcFront):
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        call = call_over_grpc(account, IMPORT, iter(requests.get, None))
        line = {"lines": [{"number": 1, "cells": ["email"]}]}
        kind = message_factory.GetMessageClass(METHODS[IMPORT].input_type)
        requests.put(json_format.ParseDict(line, kind()))
        assert dict(call.initial_metadata())["x-request-id"] == "abc"
        requests.put(None)
        assert [len(reply.results) for reply in call] == [0]
        return
    with open_request(account, "POST", PATHS[IMPORT]) as connection:
        connection.send(b"6\r\nemail\n\r\n")
        response = connection.getresponse()
        assert (response.status, response.headers["content-type"]) == (200, "application/x-ndjson")
        connection.send(b"5\r\na@b.c\r\n0\r\n\r\n")
        assert json.loads(response.read().splitlines()[0])["email"] == "a@b.c"
