"""Stream errors caused by the server, the client or the gateway."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from roster.v1 import errors_pb2
from rosterd.http_gateway import errors
from rosterd.http_gateway.streams.records import MAX_RECORD_BYTES
from rosterd.server.rpc.errors import REQUEST_ERROR_METADATA

from ..client import Client, ReceivedResponse, get, post
from ..serving import OPTIONS
from ..stream_service import message, notes_reply, reject
from .handlers import CSV, Handlers, count, csv_line, each_channel, echo, with_gateway


@each_channel
def test_rejection_is_sent_before_the_body_is_read(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def exchange(_requests: Any, context: Any) -> AsyncIterator[Any]:
        await reject(context, "UNAUTHORIZED")
        yield notes_reply()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")  # No byte of the body is sent.
        got = await client.response()
        await client.finish()
        return got, await client.is_closed()

    got, is_closed = with_gateway(kind, body, Exchange=exchange)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (401, "Unauthorized")
    assert got.headers["www-authenticate"] == "Bearer"
    assert (got.headers["connection"], is_closed) == ("close", True)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@each_channel
@pytest.mark.parametrize("path", ["/exchange", "/collect/x"])
def test_rejection_is_sent_while_the_body_is_forwarded(kind: str, path: str) -> None:
    async def exchange(requests: Any, context: Any) -> AsyncIterator[Any]:
        await collect(requests, context)
        yield notes_reply()

    async def collect(requests: Any, context: Any) -> Any:
        await anext(aiter(requests))
        await reject(context, "FORBIDDEN")

    async def body(runner: web.ServerRunner) -> Any:
        record = b'{"name":"%b"}\n' % (b"x" * 65_536)
        statuses = []
        for _ in range(20):
            client = await Client.to(runner)
            await client.begin("POST", path)
            sending = asyncio.ensure_future(client.send(record * 64))
            statuses.append((await client.head())[0])
            sending.cancel()
            client.disconnect()
        return statuses

    assert with_gateway(kind, body, Exchange=exchange, Collect=collect) == [403] * 20


def test_100_continue_is_sent_only_when_the_server_reads() -> None:
    async def exchange(requests: Any, context: Any) -> AsyncIterator[Any]:
        if dict(context.invocation_metadata()).get("authorization") != "yes":
            await reject(context, "UNAUTHORIZED")
        async for request in requests:
            yield notes_reply(request.items[0].name)

    async def body(runner: web.ServerRunner) -> Any:
        refused, accepted = await Client.to(runner), await Client.to(runner)
        await refused.begin("POST", "/exchange", Expect="100-continue")
        await accepted.begin("POST", "/exchange", Expect="100-continue", Authorization="yes")
        statuses = [(await client.head())[0] for client in (refused, accepted)]
        await accepted.send(b'{"name":"a"}')
        await accepted.finish()
        return statuses, (await accepted.response()).texts

    assert with_gateway("in-process", body, Exchange=exchange) == ([401, 100], ["a"])


@each_channel
def test_error_before_the_first_record_is_an_error_response(kind: str) -> None:
    async def exchange(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            await reject(context, "TAG_NOT_FOUND")
        yield notes_reply()

    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        await reject(context, "TAG_NOT_FOUND")
        yield notes_reply()

    async def collect(_requests: Any, context: Any) -> None:
        await reject(context, "TAG_NOT_FOUND")

    async def body(runner: web.ServerRunner) -> list[ReceivedResponse]:
        line = b'{"name":"a"}\n'
        return [
            await post(runner, "/exchange", line),
            await get(runner, "/list"),
            await post(runner, "/collect/x", line),
        ]

    for got in with_gateway(kind, body, Exchange=exchange, List=send_notes, Collect=collect):
        assert (got.status, got.headers["content-type"]) == (404, "application/json")
        assert json.loads(got.body)["error"]["code"] == "TagNotFound"


@each_channel
@pytest.mark.parametrize(("reason", "code"), [("TAG_NOT_FOUND", "TagNotFound"), ("", "Internal")])
def test_error_after_the_first_record_is_the_last_record(kind: str, reason: str, code: str) -> None:
    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        yield notes_reply("a", "b")
        if reason:
            await reject(context, reason)
        raise LookupError("rose")

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/list", X_Request_Id="abc")
        first = await client.response()
        await client.begin("GET", "/list")  # the connection is still open
        return first, await client.response()

    got, second = with_gateway(kind, body, List=send_notes)

    assert (got.status, got.texts, got.is_whole) == (200, ["a", "b", code], True)
    assert second.texts == got.texts
    assert got.records[-1].keys() == {"error"}
    assert got.records[-1]["error"].keys() == {"code", "message", "details", "requestId"}
    assert got.records[-1]["error"]["requestId"] == "abc"
    assert "rose" not in got.body.decode()


def test_started_response_is_aborted_if_the_gateway_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError("rose")

    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        yield notes_reply("a")
        await reject(context, "TAG_NOT_FOUND")

    monkeypatch.setattr(errors, "call_error", broken)

    got = with_gateway("in-process", lambda to: get(to, "/list"), List=send_notes)

    assert (got.status, got.texts, got.is_whole) == (200, ["a"], False)
    assert "LookupError: rose" in caplog.text


@each_channel
def test_error_during_the_body_closes_the_connection(kind: str) -> None:
    async def exchange(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield notes_reply(request.items[0].name)
            await reject(context, "UNAVAILABLE")

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")
        await client.send(b'{"name":"a"}\n')  # The terminating chunk is missing.
        return await client.response(), await client.is_closed()

    got, is_closed = with_gateway(kind, body, Exchange=exchange)

    assert (got.texts, got.is_whole, is_closed) == (["a", "Unavailable"], True, True)


def test_csv_response_is_aborted_at_an_error() -> None:
    async def send_notes(_request: Any, context: Any) -> AsyncIterator[Any]:
        yield message("NotesReply", lines=[csv_line(["a"])])
        await reject(context, "UNAVAILABLE")

    got = with_gateway("in-process", lambda to: get(to, "/list"), List=send_notes)

    assert (got.status, got.is_whole) == (200, False)
    assert b"error" not in got.body


BAD_CSV = b"a,b\n1,2\n" + b"3,\xff\n" + b"6,7\n"


def test_responses_to_records_before_an_invalid_one_are_sent_first() -> None:
    got = with_gateway("in-process", lambda to: post(to, "/exchange", BAD_CSV, CSV), Exchange=echo)

    assert (got.status, got.texts) == (200, ["1:a|b", "2:1|2", "ValidationError"])
    (detail,) = got.records[-1]["error"]["details"]
    assert (detail["code"], detail["message"][-16:]) == ("INVALID_FORMAT", "(line 3, byte 3)")


def test_invalid_record_without_a_field_for_errors_is_not_sent() -> None:
    async def strictly(requests: Any, _context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield notes_reply(*(strict.name for strict in request.stricts))

    body = b'{"name":"a"}\n{"name":"b"}\n{"name":"c","x":1}\n'
    got = with_gateway(
        "in-process", lambda to: post(to, "/exchange-strict", body), ExchangeStrict=strictly
    )

    assert got.texts == ["a", "b", "ValidationError"]
    assert got.records[-1]["error"]["details"][0]["field"] == "stricts[2].x"


def test_error_in_the_body_before_any_response_is_the_response() -> None:
    async def body(runner: web.ServerRunner) -> list[ReceivedResponse]:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")
        await client.send(b"x" * (MAX_RECORD_BYTES + 1))  # The terminating chunk is missing.
        return [
            await post(runner, "/exchange", b'"a', CSV),
            await post(runner, "/exchange-strict", b'{"name":7}'),
            await client.response(),
        ]

    for got in with_gateway("in-process", body, Exchange=echo, ExchangeStrict=echo):
        assert (got.status, json.loads(got.body)["error"]["code"]) == (400, "ValidationError")


@each_channel
def test_incomplete_body_of_a_client_stream_cancels_its_call(kind: str) -> None:
    handlers = Handlers()

    async def collect(requests: Any, context: Any) -> Any:
        if REQUEST_ERROR_METADATA in dict(context.invocation_metadata()):
            handlers.received.append(dict(context.invocation_metadata())[REQUEST_ERROR_METADATA])
        return await handlers.collect(requests, context)

    got = with_gateway(kind, lambda to: post(to, "/collect/x", BAD_CSV, CSV), Collect=collect)

    assert (got.status, got.headers["connection"]) == (400, "close")
    assert json.loads(got.body)["error"]["code"] == "ValidationError"
    # The first call was canceled; the second has the error in its metadata.
    *first, error, _ = handlers.received
    # Over a network channel, a canceled call can look like a completed one.
    assert "end" not in first or kind == "real"
    assert errors_pb2.Error.FromString(error).details[0].message.endswith("(line 3, byte 3)")


def test_server_is_called_before_an_error_in_the_body_is_reported() -> None:
    async def collect(requests: Any, context: Any) -> Any:
        if REQUEST_ERROR_METADATA in dict(context.invocation_metadata()):
            await reject(context, "FORBIDDEN")
        return await count(requests, context)

    got = with_gateway(
        "in-process", lambda to: post(to, "/collect/x", BAD_CSV, CSV), Collect=collect
    )

    assert json.loads(got.body)["error"]["code"] == "Forbidden"


@pytest.mark.parametrize("started", [False, True])
def test_idle_body_times_out(started: bool) -> None:
    options = replace(OPTIONS, stream_idle_seconds=0.3)

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")
        if started:
            await client.send(b'{"name":"a"}\n{"na')
        got = await client.response()
        await client.finish()
        return got, await client.is_closed()

    got, is_closed = with_gateway("in-process", body, options=options, Exchange=echo)

    if started:
        assert (got.status, got.texts) == (200, ["a", "RequestTimeout"])
    else:
        assert (got.status, json.loads(got.body)["error"]["code"]) == (408, "RequestTimeout")
    assert is_closed


# Longer than the timeout of a test.
TIMEOUT = 60.0


@each_channel
@pytest.mark.parametrize("working", [False, True])
def test_draining_gateway_stops_reading_the_body_with_an_error(kind: str, working: bool) -> None:
    async def exchange(requests: Any, _context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield notes_reply(request.items[0].name)
            if working:
                await stopping.wait()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange")
        await client.send(b'{"name":"a"}\n')
        head = await client.head()
        first = await client.chunk()
        stop = asyncio.create_task(runner.cleanup())
        await asyncio.sleep(0.01)
        stopping.set()
        last = await client.chunk()
        got = ReceivedResponse(*head, first + last, is_whole=await client.chunk() == b"")
        client.disconnect()
        await stop
        return got

    stopping = asyncio.Event()
    got = with_gateway(kind, body, grace=TIMEOUT, Exchange=exchange)

    assert (got.texts, got.is_whole) == (["a", "Unavailable"], True)


def test_draining_gateway_makes_no_second_call() -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x")
        await client.send(b'{"name":"a"}\n')
        await handlers.started.wait()
        stop = asyncio.create_task(runner.cleanup())
        got = await client.response()
        client.disconnect()
        await stop
        return got

    calls = 0

    async def collect(requests: Any, context: Any) -> Any:
        nonlocal calls
        calls += 1
        return await handlers.collect(requests, context)

    got = with_gateway("in-process", body, grace=TIMEOUT, Collect=collect)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (503, "Unavailable")
    assert calls == 1
