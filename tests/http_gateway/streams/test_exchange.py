"""Streaming rpcs over HTTP."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import zipfile
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from rosterd.http_gateway.routing.stream_fields import MAX_RECORDS
from rosterd.http_gateway.streams import unpacking
from rosterd.http_gateway.streams.unpacking import Unpacking

from ..client import Client, ReceivedResponse, get, post
from ..stream_service import message, notes_reply
from .handlers import CSV, Handlers, count, csv_line, each_channel, echo, with_gateway


@each_channel
@pytest.mark.parametrize(
    ("content_type", "body", "texts"),
    [
        (
            "application/x-ndjson",
            b'{"name":"a"}\n\nno\n{"name":7,"x":1}\n{"name":"b"}',
            ["a", ":all", ":name:x", "b"],
        ),
        ("text/csv", b'a;b\r\n"1\n";2\r\n', ["1:a|b", "3:1\n|2"]),
    ],
    ids=["NDJSON", "CSV"],
)
def test_records_reach_the_server_and_responses_the_client(
    kind: str, content_type: str, body: bytes, texts: list[str]
) -> None:
    got = with_gateway(kind, lambda to: post(to, "/exchange", body, content_type), Exchange=echo)

    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (got.texts, got.is_whole) == (texts, True)
    assert got.headers["transfer-encoding"] == "chunked"
    assert got.headers["x-request-id"]


@each_channel
def test_response_to_a_record_arrives_before_the_next_record_is_sent(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        client, received = await Client.to(runner), []
        await client.begin("POST", "/exchange")
        for number in range(3):
            await client.send(b'{"name":"%d"}\n{"na' % number)
            if number == 0:
                await client.head()
            received.append(json.loads(await client.chunk())["text"])
            await client.send(b'me":"rest"}\n')
            received.append(json.loads(await client.chunk())["text"])
        await client.finish()
        return received, await client.chunk()

    assert with_gateway(kind, body, Exchange=echo) == (["0", "rest", "1", "rest", "2", "rest"], b"")


@each_channel
def test_client_stream_returns_one_object(kind: str) -> None:
    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("POST", "/collect/x")
        await client.send(b'{"name":"a"}\n' * 1_200)
        await client.finish()
        first = await client.response()
        await client.begin("POST", "/collect/x")  # the connection is still open
        await client.finish()
        return first, await client.response()

    first, second = with_gateway(kind, body, Collect=count)

    assert (first.status, first.headers["content-type"]) == (200, "application/json")
    assert (json.loads(first.body), json.loads(second.body)) == ({"total": 1_200}, {"total": 0})


def test_fields_of_path_and_query_are_in_every_message() -> None:
    async def body(runner: web.ServerRunner) -> Any:
        lines = b'{"name":"a"}\n' * (MAX_RECORDS + 1)
        await post(runner, "/collect/a%20b", lines)
        await post(runner, "/exchange?set=c", lines)
        return await post(runner, "/exchange?name=c", lines), await post(
            runner, "/exchange?lines=c", b""
        )

    handlers = Handlers()
    refused = with_gateway("in-process", body, Collect=handlers.collect, Exchange=handlers.exchange)

    sets = [received.set for received in handlers.received if received != "end"]
    assert sorted(set(sets)) == ["a b", "c"]
    assert len(sets) >= 4
    assert [got.status for got in refused] == [400, 400]


@pytest.mark.parametrize("body", [b"", b"\n\r\n"])
def test_body_without_records_is_one_message_with_the_query(body: bytes) -> None:
    handlers = Handlers()

    with_gateway(
        "in-process", lambda to: post(to, "/exchange?set=x", body), Exchange=handlers.exchange
    )

    first, end = handlers.received
    assert (first.set, len(first.items), end) == ("x", 0, "end")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Content_Type", "text/plain"),
        ("Content_Type", "text/csv; charset=latin-1"),
        ("Content_Type", "application/x-ndjson; charset=utf-16"),
        ("Content_Encoding", "gzip"),
    ],
)
def test_unsupported_content_type_is_rejected(header: str, value: str) -> None:
    async def body(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange", **{header: value})
        return await client.response()

    got = with_gateway("in-process", body, Exchange=echo)

    assert (got.status, json.loads(got.body)["error"]["code"]) == (415, "UnsupportedMediaType")
    assert got.headers["connection"] == "close"


@pytest.mark.parametrize(
    "content_type",
    [
        *("application/x-ndjson", "application/ndjson; charset=UTF-8", "Application/JSONL"),
        *("application/json", None),
    ],
)
def test_ndjson_has_several_content_types_or_none(content_type: str | None) -> None:
    async def body(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        headers = {"Content_Type": content_type} if content_type else {}
        await client.begin("POST", "/exchange", **headers)
        await client.send(b'{"name":"a"}\n')
        await client.finish()
        return await client.response()

    assert with_gateway("in-process", body, Exchange=echo).texts == ["a"]


def zipped(**files: bytes) -> bytes:
    """Returns an archive of files; `__` in a name is a dot."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return file.getvalue()


ITEMS = b'[{"name":"a"},\n {"name":\n"b"}]'


@pytest.mark.parametrize(
    ("content_type", "body", "texts"),
    [
        ("application/json", ITEMS, ["a", "b"]),
        ("application/x-ndjson", ITEMS, ["a", "b"]),
        ("application/zip", zipped(a__txt=b"\xef\xbb\xbf[]"), []),
        ("application/octet-stream", zipped(a__tsv=b"a\tb\r1\t2\r"), ["1:a|b", "2:1|2"]),
        (CSV, zipped(a__csv=b"a,b\n", b__pdf=b"%PDF"), ["1:a|b"]),
        (CSV, b"PK,b\n", ["1:PK|b"]),
    ],
)
def test_arrays_and_archives_are_read(content_type: str, body: bytes, texts: list[str]) -> None:
    async def send(runner: web.ServerRunner) -> ReceivedResponse:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange", Content_Type=content_type)
        for start in range(0, len(body), 3):
            await client.send(body[start : start + 3])
        await client.finish()
        return await client.response()

    got = with_gateway("in-process", send, Exchange=echo)

    assert (got.status, got.texts) == (200, texts)


@pytest.mark.parametrize(
    ("content_type", "body", "status", "message"),
    [
        ("application/zip", b"a,b\n", 415, "Content-Type must be"),
        ("application/zip", zipped(a__csv=b"", b__csv=b""), 400, "a.csv, b.csv"),
        ("application/json", b'{"items":[{"name":"a"}],"n":1}', 400, "one JSON array of objects"),
        ("application/json", b'{\n "items": [\n{}]}', 400, "one JSON array of objects"),
    ],
)
def test_body_that_is_neither_rows_nor_an_archive_is_rejected(
    content_type: str, body: bytes, status: int, message: str
) -> None:
    got = with_gateway(
        "in-process", lambda to: post(to, "/exchange", body, content_type), Exchange=echo
    )

    error = json.loads(got.body)["error"]
    texts = [error["message"], *(detail["message"] for detail in error["details"])]
    assert (got.status, message in " ".join(texts)) == (status, True)


def test_temporary_file_of_an_archive_is_removed_if_the_client_disconnects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers, files = Handlers(), []
    create = tempfile.SpooledTemporaryFile

    def remember(size: int) -> Any:
        files.append(create(size))
        return files[-1]

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", remember)

    async def leave(runner: web.ServerRunner) -> None:
        client = await Client.to(runner)
        await client.begin("POST", "/exchange", Content_Type="application/zip")
        await client.send(zipped(a__json=ITEMS)[:-9])
        while not files or not files[0].tell():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        client.disconnect()
        await handlers.has_ended.wait()
        while not files[0].closed:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    with_gateway("in-process", leave, Exchange=handlers.exchange)

    assert Unpacking.stored_bytes == 0


def test_archives_are_limited_in_size_each_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    body = zipped(a__json=ITEMS)

    async def send(runner: web.ServerRunner) -> ReceivedResponse:
        return await post(runner, "/exchange", body, "application/zip")

    with monkeypatch.context() as patch:
        patch.setattr(unpacking, "MAX_ARCHIVE_BYTES", len(body) - 1)
        too_large = with_gateway("in-process", send, Exchange=echo)
    monkeypatch.setattr(unpacking, "MAX_STORED_BYTES", len(body) - 1)
    small = with_gateway("in-process", send, Exchange=echo)
    monkeypatch.setattr(unpacking, "MAX_SMALL_BYTES", len(body) - 1)
    too_many = with_gateway("in-process", send, Exchange=echo)

    assert (too_large.status, small.status, too_many.status) == (413, 200, 503)


def test_archives_that_do_not_end_keep_no_other_from_being_imported() -> None:
    body = zipped(a__json=ITEMS)
    part = body[:-9]

    async def send(runner: web.ServerRunner) -> ReceivedResponse:
        clients = [await Client.to(runner) for _ in range(8)]
        for client in clients:
            await client.begin("POST", "/exchange", Content_Type="application/zip")
            await client.send(part)
        while Unpacking.stored_bytes < len(clients) * len(part):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        got = await post(runner, "/exchange", body, "application/zip")
        for client in clients:
            client.disconnect()
        return got

    got = with_gateway("in-process", send, Exchange=echo)

    assert got.status == 200


@each_channel
def test_server_stream_is_returned_as_one_line_per_record(kind: str) -> None:
    async def send_notes(request: Any, _context: Any) -> AsyncIterator[Any]:
        yield notes_reply()
        yield notes_reply(request.name, "b")
        yield notes_reply()
        yield notes_reply("é\n")

    got = with_gateway(kind, lambda to: get(to, "/list?name=a"), List=send_notes)

    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (got.texts, got.is_whole) == (["a", "b", "é\n"], True)


def test_server_stream_of_csv_lines_is_csv() -> None:
    async def send_notes(_request: Any, _context: Any) -> AsyncIterator[Any]:
        yield notes_reply()
        for row in (["id", "name"], ["1", 'a "b", c']):
            yield message("NotesReply", lines=[csv_line(row)])

    got = with_gateway("in-process", lambda to: get(to, "/list"), List=send_notes)

    assert got.headers["content-type"] == "text/csv; charset=utf-8"
    assert (got.body, got.is_whole) == (b'id,name\r\n1,"a ""b"", c"\r\n', True)


@each_channel
def test_head_returns_the_headers_of_get_and_ends_the_call(kind: str) -> None:
    handlers = Handlers()

    async def body(runner: web.ServerRunner) -> Any:
        client = await Client.to(runner)
        await client.begin("HEAD", "/list?name=1")
        of_head = await client.response(has_body=False)
        await handlers.has_ended.wait()
        await client.begin("HEAD", "/list?name=none")  # the connection is still open
        return of_head, await client.response(has_body=False)

    of_head, second = with_gateway(kind, body, List=handlers.endless)

    assert of_head.status == 200
    assert of_head.headers["content-type"] == "application/x-ndjson"
    assert second.status == 500


def test_http_1_0_response_ends_with_the_connection() -> None:
    async def body(runner: web.ServerRunner) -> bytes:
        client = await Client.to(runner)
        await client.raw(b"POST /exchange HTTP/1.0\r\nContent-Length: 12\r\n\r\n" + b'{"name":"a"}')
        return await client.reader.read()

    head, _, text = with_gateway("in-process", body, Exchange=echo).partition(b"\r\n\r\n")

    assert text == b'{"text":"a"}\n'
    assert b"Transfer-Encoding" not in head
    assert b"Connection: close" in head
