"""Streaming rpcs over HTTP: records in, records out, and what becomes of either when it fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from roster.v1 import errors_pb2, http_pb2

from http_gateway import answers
from http_gateway.app import FAULT
from http_gateway.routing.stream_fields import MAX_RECORDS
from http_gateway.streams import requests
from http_gateway.streams.records import MAX_RECORD_BYTES

from ..made import Client, Got, Handler, gateway_to, get, message, post, refuse, run, told

each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])
CSV = "text/csv"


async def echo(requests: Any, context: Any) -> AsyncIterator[Any]:
    """Tells of each record as it comes: its name, its faults, its cells."""
    async for request in requests:
        notes = [
            ":".join([item.name, *(fault.field or "all" for fault in item.faults)])
            for item in request.items
        ]
        lines = [f"{line.number}:{'|'.join(line.cells)}" for line in request.lines]
        yield told(*notes, *lines)


async def count(requests: Any, context: Any) -> Any:
    total = 0
    async for request in requests:
        total += len(request.items)
    return message("Sum", total=total)


class Handlers:
    """Handlers that note what they get and how they end."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def both(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async for request in requests:
                self.seen.append(request)
                yield told("a")
            self.seen.append("end")
        finally:
            self.ended.set()

    async def collect(self, requests: Any, context: Any) -> Any:
        try:
            async for request in requests:
                self.seen.append(request)
                self.begun.set()
            self.seen.append("end")
            return message("Sum", total=1)
        finally:
            self.ended.set()

    async def endless(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Gives the first reply, or as many as the request's name says, and waits for ever."""
        try:
            while len(self.seen) < int(request.name or "1"):
                self.seen.append("given")
                yield told("x" * 65_536 if request.name else "a")
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def with_gateway(kind: str, body: Any, *, grace: float = 0.5, **handlers: Handler) -> Any:
    """Runs a test's body with a gateway over a channel to these handlers."""

    async def main() -> Any:
        async with gateway_to(kind, grace=grace, **handlers) as runner:
            return await body(runner)

    return run(main())


# What goes in and what comes out.


@each_channel
@pytest.mark.parametrize(
    ("content_type", "body", "texts"),
    [
        (
            "application/x-ndjson",
            b'{"name":"a"}\n\nno\n{"name":7,"x":1}\n{"name":"b"}',
            ["a", ":all", ":x:name", "b"],
        ),
        ("text/csv", b'a;b\r\n"1\n";2\r\n', ["1:a|b", "3:1\n|2"]),
    ],
    ids=["NDJSON", "CSV"],
)
def test_every_record_reaches_the_server_and_every_reply_the_client(
    kind: str, content_type: str, body: bytes, texts: list[str]
) -> None:
    got = with_gateway(kind, lambda to: post(to, "/both", body, content_type), Both=echo)

    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (got.texts, got.is_whole) == (texts, True)
    assert got.headers["transfer-encoding"] == "chunked"
    assert got.headers["x-request-id"]


@each_channel
def test_a_record_is_answered_before_the_next_one_is_sent(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        client, seen = await Client.to(runner), []
        await client.begin("POST", "/both")
        for number in range(3):
            await client.send(b'{"name":"%d"}\n{"na' % number)
            if number == 0:
                await client.head()
            seen.append(json.loads(await client.chunk())["text"])
            await client.send(b'me":"rest"}\n')
            seen.append(json.loads(await client.chunk())["text"])
        await client.finish()
        return seen, await client.chunk()

    assert with_gateway(kind, body, Both=echo) == (["0", "rest", "1", "rest", "2", "rest"], b"")


@each_channel
def test_a_client_stream_is_answered_by_one_object(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x")
        await client.send(b'{"name":"a"}\n' * 1_200)
        await client.finish()
        first = await client.answer()
        await client.begin("POST", "/collect/x")  # the connection goes on
        await client.finish()
        return first, await client.answer()

    first, second = with_gateway(kind, body, Collect=count)

    assert (first.status, first.headers["content-type"]) == (200, "application/json")
    assert (json.loads(first.body), json.loads(second.body)) == ({"total": 1_200}, {"total": 0})


@each_channel
def test_path_and_query_are_in_every_message(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        lines = b'{"name":"a"}\n' * (MAX_RECORDS + 1)
        await post(runner, "/collect/a%20b", lines)
        await post(runner, "/both?set=c", lines)
        return await post(runner, "/both?name=c", lines), await post(runner, "/both?lines=c", b"")

    handlers = Handlers()
    refused = with_gateway(kind, body, Collect=handlers.collect, Both=handlers.both)

    sets = [seen.set for seen in handlers.seen if seen != "end"]
    assert sorted(set(sets)) == ["a b", "c"]
    assert len(sets) >= 4
    assert [got.status for got in refused] == [400, 400]


@each_channel
@pytest.mark.parametrize("body", [b"", b"\n\r\n"])
def test_a_body_without_records_still_says_what_the_query_says(kind: str, body: bytes) -> None:
    handlers = Handlers()

    with_gateway(kind, lambda to: post(to, "/both?set=x", body), Both=handlers.both)

    first, end = handlers.seen
    assert (first.set, len(first.items), end) == ("x", 0, "end")


@each_channel
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content_Type", "application/json"),
        ("Content_Type", "text/plain"),
        ("Content_Type", "text/csv; charset=latin-1"),
        ("Content_Type", "application/x-ndjson; charset=utf-16"),
        ("Content_Encoding", "gzip"),
    ],
)
def test_a_body_of_another_kind_is_refused(kind: str, header: str, value: str) -> None:
    async def body(runner: web.ServerRunner) -> Got:
        client = await Client.to(runner)
        await client.begin("POST", "/both", **{header: value})
        return await client.answer()

    got = with_gateway(kind, body, Both=echo)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (415, "UnsupportedMediaType")
    assert got.headers["connection"] == "close"


@each_channel
@pytest.mark.parametrize(
    "content_type",
    ["application/x-ndjson", "application/ndjson; charset=UTF-8", "Application/JSONL", None],
)
def test_ndjson_has_several_names_or_none(kind: str, content_type: str | None) -> None:
    async def body(runner: web.ServerRunner) -> Got:
        client = await Client.to(runner)
        headers = {"Content_Type": content_type} if content_type else {}
        await client.begin("POST", "/both", **headers)
        await client.send(b'{"name":"a"}\n')
        await client.finish()
        return await client.answer()

    assert with_gateway(kind, body, Both=echo).texts == ["a"]


def test_csv_is_refused_where_a_request_has_no_lines() -> None:
    async def body(runner: web.ServerRunner) -> Got:
        return await post(runner, "/strictly", b"a,b\n", CSV)

    got = with_gateway("in-process", body, Strictly=echo)

    assert got.status == 415
    assert "csv" not in json.loads(got.body)["error"]["message"]


@each_channel
def test_a_server_stream_is_a_line_for_each_record(kind: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told()
        yield told(request.name, "b")
        yield told()
        yield told("é\n")

    got = with_gateway(kind, lambda to: get(to, "/give?name=a"), Give=give)

    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (got.texts, got.is_whole) == (["a", "b", "é\n"], True)


@each_channel
def test_a_server_stream_of_lines_is_csv(kind: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told()
        for row in (["id", "name"], ["1", 'a "b", c']):
            yield message("Told", lines=[message_of_cells(row)])

    got = with_gateway(kind, lambda to: get(to, "/give"), Give=give)

    assert got.headers["content-type"] == "text/csv; charset=utf-8"
    assert (got.body, got.is_whole) == (b'id,name\r\n1,"a ""b"", c"\r\n', True)


def message_of_cells(cells: list[str]) -> Any:
    line = type(message("Told").lines.add())()
    line.MergeFromString(http_pb2.CsvLine(cells=cells).SerializeToString())
    return line


@each_channel
def test_a_stream_without_records_is_an_empty_answer(kind: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told()

    got = with_gateway(kind, lambda to: get(to, "/give"), Give=give)

    assert (got.status, got.body, got.is_whole) == (200, b"", True)
    assert got.headers["content-type"] == "application/x-ndjson"


@each_channel
def test_a_connection_goes_on_after_a_stream(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        client, seen = await Client.to(runner), []
        for name in ("a", "b"):
            await client.begin("POST", "/both")
            await client.send(b'{"name":"%b"}' % name.encode())
            await client.finish()
            seen += (await client.answer()).texts
        return seen

    assert with_gateway(kind, body, Both=echo) == ["a", "b"]


@each_channel
def test_head_gives_the_headers_of_get_and_ends_the_call(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("HEAD", "/give?name=1")
        of_head = await client.answer(has_body=False)
        await handlers.ended.wait()
        await client.begin("HEAD", "/give?name=none")  # the connection goes on
        return of_head, await client.answer(has_body=False)

    of_head, second = with_gateway(kind, body, Give=handlers.endless)

    assert of_head.status == 200
    assert of_head.headers["content-type"] == "application/x-ndjson"
    assert second.status == 500


def test_http_1_0_gets_an_answer_that_ends_with_the_connection() -> None:
    async def body(runner: web.ServerRunner) -> bytes:
        client = await Client.to(runner)
        await client.raw(b"POST /both HTTP/1.0\r\nContent-Length: 12\r\n\r\n" + b'{"name":"a"}')
        return await client.reader.read()

    head, _, text = with_gateway("in-process", body, Both=echo).partition(b"\r\n\r\n")

    assert text == b'{"text":"a"}\n'
    assert b"Transfer-Encoding" not in head
    assert b"Connection: close" in head


# What fails.


@each_channel
def test_a_refusal_comes_before_the_body_is_read(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        await refuse(context, "UNAUTHORIZED")
        yield told()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/both")  # and nothing of the body
        got = await client.answer()
        await client.finish()
        return got, await client.is_closed()

    got, is_closed = with_gateway(kind, body, Both=both)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (401, "Unauthorized")
    assert got.headers["www-authenticate"] == "Bearer"
    assert (got.headers["connection"], is_closed) == ("close", True)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_body_is_asked_for_only_when_the_server_wants_it() -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        if dict(context.invocation_metadata()).get("authorization") != "yes":
            await refuse(context, "UNAUTHORIZED")
        async for request in requests:
            yield told(request.items[0].name)

    async def body(runner: web.ServerRunner) -> Any:
        refused, taken = await Client.to(runner), await Client.to(runner)
        await refused.begin("POST", "/both", Expect="100-continue")
        await taken.begin("POST", "/both", Expect="100-continue", Authorization="yes")
        statuses = [(await client.head())[0] for client in (refused, taken)]
        await taken.send(b'{"name":"a"}')
        await taken.finish()
        return statuses, (await taken.answer()).texts

    assert with_gateway("in-process", body, Both=both) == ([401, 100], ["a"])


@each_channel
def test_an_error_before_the_first_record_is_an_error_like_any_other(kind: str) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            await refuse(context, "TAG_NOT_FOUND")
        yield told()

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        await refuse(context, "TAG_NOT_FOUND")
        yield told()

    async def collect(requests: Any, context: Any) -> None:
        await refuse(context, "TAG_NOT_FOUND")

    async def body(runner: web.ServerRunner) -> list[Got]:
        line = b'{"name":"a"}\n'
        return [
            await post(runner, "/both", line),
            await get(runner, "/give"),
            await post(runner, "/collect/x", line),
        ]

    for got in with_gateway(kind, body, Both=both, Give=give, Collect=collect):
        assert (got.status, got.headers["content-type"]) == (404, "application/json")
        assert json.loads(got.body)["error"]["code"] == "TagNotFound"


@each_channel
@pytest.mark.parametrize(("reason", "code"), [("TAG_NOT_FOUND", "TagNotFound"), ("", "Internal")])
def test_an_error_after_the_first_record_is_the_last_one(kind: str, reason: str, code: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told("a", "b")
        if reason:
            await refuse(context, reason)
        raise LookupError("rose")

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/give", X_Request_Id="abc")
        return await client.answer(), await client.is_closed()

    got, is_closed = with_gateway(kind, body, Give=give)

    assert (got.status, got.texts, got.is_whole) == (200, ["a", "b", code], True)
    assert got.records[-1].keys() == {"error"}
    assert got.records[-1]["error"].keys() == {"code", "message", "details", "requestId"}
    assert got.records[-1]["error"]["requestId"] == "abc"
    assert "rose" not in got.body.decode()
    assert is_closed


@each_channel
def test_csv_breaks_off_at_an_error(kind: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield message("Told", lines=[message_of_cells(["a"])])
        await refuse(context, "UNAVAILABLE")

    got = with_gateway(kind, lambda to: get(to, "/give"), Give=give)

    assert (got.status, got.is_whole) == (200, False)
    assert b"error" not in got.body


BAD_CSV = b"a,b\n1,2\n" + b'"3"4,5\n' + b"6,7\n"


@each_channel
def test_what_came_before_a_fault_of_the_body_is_answered_before_the_fault(kind: str) -> None:
    got = with_gateway(kind, lambda to: post(to, "/both", BAD_CSV, CSV), Both=echo)

    assert (got.status, got.texts) == (200, ["1:a|b", "2:1|2", "ValidationError"])
    (detail,) = got.records[-1]["error"]["details"]
    assert (detail["code"], detail["message"][-8:]) == ("INVALID_FORMAT", "(line 3)")


@each_channel
def test_a_record_with_a_fault_that_has_no_place_reaches_no_server(kind: str) -> None:
    async def strictly(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield told(*(strict.name for strict in request.stricts))

    body = b'{"name":"a"}\n{"name":"b"}\n{"name":"c","x":1}\n'
    got = with_gateway(kind, lambda to: post(to, "/strictly", body), Strictly=strictly)

    assert got.texts == ["a", "b", "ValidationError"]
    assert got.records[-1]["error"]["details"][0]["field"] == "stricts[2].x"


@each_channel
def test_a_fault_of_the_body_before_any_answer_is_the_answer(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> list[Got]:
        client = await Client.to(runner)
        await client.begin("POST", "/both")
        await client.send(b"x" * (MAX_RECORD_BYTES + 1))  # and no end of it
        return [
            await post(runner, "/both", b'"a', CSV),
            await post(runner, "/strictly", b'{"name":7}'),
            await client.answer(),
        ]

    for got in with_gateway(kind, body, Both=echo, Strictly=echo):
        assert (got.status, json.loads(got.body)["error"]["code"]) == (400, "ValidationError")


@each_channel
def test_half_a_body_is_no_whole_one_for_a_server_that_answers_at_the_end(kind: str) -> None:
    handlers = Handlers()

    async def collect(requests: Any, context: Any) -> Any:
        if FAULT in dict(context.invocation_metadata()):
            handlers.seen.append(dict(context.invocation_metadata())[FAULT])
        return await handlers.collect(requests, context)

    got = with_gateway(kind, lambda to: post(to, "/collect/x", BAD_CSV, CSV), Collect=collect)

    assert (got.status, got.headers["connection"]) == (400, "close")
    assert json.loads(got.body)["error"]["code"] == "ValidationError"
    # The first call was cancelled; the second asks the server what it says to the fault.
    *first, fault, _ = handlers.seen
    # To a handler behind a socket a call that was cancelled may look as if it had ended.
    assert "end" not in first or kind == "real"
    assert errors_pb2.Error.FromString(fault).details[0].message.endswith("(line 3)")


@each_channel
def test_the_server_says_first_whether_a_caller_learns_of_the_faults_of_a_body(kind: str) -> None:
    async def collect(requests: Any, context: Any) -> Any:
        if FAULT in dict(context.invocation_metadata()):
            await refuse(context, "FORBIDDEN")
        return await count(requests, context)

    got = with_gateway(kind, lambda to: post(to, "/collect/x", BAD_CSV, CSV), Collect=collect)

    assert json.loads(got.body)["error"]["code"] == "Forbidden"


@each_channel
@pytest.mark.parametrize("begun", [False, True])
def test_a_body_of_which_nothing_comes_any_more_is_given_up(
    kind: str, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "IDLE_SECONDS", 0.3)

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/both")
        if begun:
            await client.send(b'{"name":"a"}\n{"na')
        got = await client.answer()
        await client.finish()
        return got, await client.is_closed()

    got, is_closed = with_gateway(kind, body, Both=echo)

    if begun:
        assert (got.status, got.texts) == (200, ["a", "RequestTimeout"])
    else:
        assert (got.status, json.loads(got.body)["error"]["code"]) == (408, "RequestTimeout")
    assert is_closed


# More than a test may take: what ends sooner does so by itself.
LONG = 60.0


@each_channel
@pytest.mark.parametrize("working", [False, True])
def test_a_gateway_that_stops_ends_a_body_and_says_so(kind: str, working: bool) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield told(request.items[0].name)
            if working:
                await stopping.wait()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/both")
        await client.send(b'{"name":"a"}\n')
        head = await client.head()
        first = await client.chunk()
        stop = asyncio.create_task(runner.cleanup())
        await asyncio.sleep(0.01)
        stopping.set()
        last = await client.chunk()
        got = Got(*head, first + last, is_whole=await client.chunk() == b"")
        client.leave()
        await stop
        return got

    stopping = asyncio.Event()
    got = with_gateway(kind, body, grace=LONG, Both=both)

    assert (got.texts, got.is_whole) == (["a", "Unavailable"], True)


@each_channel
def test_a_gateway_that_stops_does_not_ask_the_server_what_it_says_to_that(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Got:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x")
        await client.send(b'{"name":"a"}\n')
        await handlers.begun.wait()
        stop = asyncio.create_task(runner.cleanup())
        got = await client.answer()
        client.leave()
        await stop
        return got

    calls = 0

    async def collect(requests: Any, context: Any) -> Any:
        nonlocal calls
        calls += 1
        return await handlers.collect(requests, context)

    got = with_gateway(kind, body, grace=LONG, Collect=collect)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (503, "Unavailable")
    assert calls == 1


# Clients that go away or do not read.


@each_channel
@pytest.mark.parametrize("when", ["amid the body", "while the server works"])
def test_a_client_that_leaves_ends_the_call(kind: str, when: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        if when == "amid the body":
            await client.begin("POST", "/both")
            await client.send(b'{"name":"a"}\n')
        else:
            await client.begin("GET", "/give")
        await client.head()
        await client.chunk()
        assert not handlers.ended.is_set()
        client.leave()
        await handlers.ended.wait()

    with_gateway(kind, body, Both=handlers.both, Give=handlers.endless)

    # To a handler behind a socket a call that was cancelled may look as if it had ended.
    assert "end" not in handlers.seen or kind == "real"


@each_channel
def test_a_client_that_leaves_before_it_was_answered_ends_the_call(kind: str) -> None:
    handlers, begun = Handlers(), asyncio.Event()

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        begun.set()
        await handlers.collect(never(), context)
        yield told()

    async def never() -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield

    async def body(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("GET", "/give")
        await begun.wait()
        client.leave()
        await handlers.ended.wait()

    with_gateway(kind, body, Give=give)

    assert handlers.seen == []


async def settled(handlers: Handlers) -> int:
    """Returns how many replies were given once there come no more."""
    before = -1
    while before != len(handlers.seen):
        before = len(handlers.seen)
        await asyncio.sleep(0.2)
    return before


@each_channel
def test_a_server_gives_no_more_than_its_client_reads(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/give?name=100000")  # of 64 KiB each
        before = await settled(handlers)
        await client.head()
        for _ in range(before):
            await client.chunk()
        return before, await settled(handlers)

    before, after = with_gateway(kind, body, Give=handlers.endless)

    # What sockets and windows hold is some megabytes.
    assert before < 500
    assert before < after < before + 500


@each_channel
def test_a_body_is_read_no_faster_than_the_server_takes_it(kind: str) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        yield told("a")
        await asyncio.Event().wait()

    async def body(runner: web.ServerRunner) -> int:
        client, sent = await Client.to(runner), 0
        await client.begin("POST", "/both")
        line = b'{"name":"%b"}\n' % (b"x" * 60_000)
        try:
            while sent < 5_000:
                await asyncio.wait_for(client.send(line), 0.5)
                sent += 1
        except TimeoutError:
            pass
        client.leave()
        return sent

    # 5,000 lines are 300 MB.
    assert with_gateway(kind, body, Both=both) < 1_000


@each_channel
def test_a_client_that_does_not_read_is_cut_off(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "READ_SECONDS", 0.2)
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("GET", "/give?name=100000")
        await handlers.ended.wait()
        return await client.answer()

    assert not with_gateway(kind, body, Give=handlers.endless).is_whole
    assert len(handlers.seen) < 500
