"""Tests the JSON and text formats of the log."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import os
import pty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc import aio

from rosterd.server.observability.logs import (
    GRPC,
    JsonFormatter,
    TextFormatter,
    is_no_disconnection,
    is_text,
)
from rosterd.server.observability.request_log import json_line
from rosterd.server.observability.request_record import RequestRecord
from rosterd.server.rpc.caller import Caller
from rosterd.server.serving.ready import Ready
from rosterd.server.values.actors import Actor, ActorType

from ..documents import OPERATION, ROOT, table


@pytest.fixture
def terminal() -> Iterator[io.TextIOWrapper]:
    """A terminal to write to."""
    reader, writer = pty.openpty()
    with os.fdopen(writer, "w") as target:
        yield target
    os.close(reader)


def test_default_format_is_text_on_a_terminal_and_json_in_a_file(
    terminal: io.TextIOWrapper,
) -> None:
    file = io.StringIO()

    formats = [(is_text(form, terminal), is_text(form, file)) for form in ("auto", "json", "text")]

    assert formats == [(True, False), (False, False), (True, True)]


def record(**attributes: object) -> logging.LogRecord:
    fields = {"levelname": "WARNING", "name": "server.x", "msg": "it %s", "args": ("burns",)}
    return logging.makeLogRecord({**fields, "created": 1.5, **attributes})


def test_both_formats_have_extra_attributes_that_are_not_none() -> None:
    with_extra = record(requestId="abc", nothing=None)

    assert JsonFormatter().format(with_extra) == (
        '{"time":"1970-01-01T00:00:01.500Z","level":"warning","logger":"server.x",'
        '"message":"it burns","requestId":"abc"}'
    )
    assert TextFormatter().format(with_extra) == "00:00:01.500Z warning  it burns requestId=abc"


def fields_of_calls() -> set[str]:
    """Returns the fields of the lines of calls over HTTP, of an rpc and of a page."""
    call = RequestRecord("abc")
    call.method, call.status, call.route, call.code = "GET", 200, "TagService.ListTags", "OK"
    call.trace_id, call.client_address = "t", "192.0.2.1"
    call.caller = Caller("a", Actor(ActorType.API_KEY, "k", "n"), "read", email_verified=True)
    page = RequestRecord("abc")
    page.route = "/docs"
    return {*json.loads(json_line(call)), *json.loads(json_line(page))}


def extra_fields(file: Path) -> Iterator[str]:
    """Yields the fields that a module passes to its log as `extra`, or in a variable `about`.

    The fields of `Ready.log_fields` are added by the test.
    """
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.keyword) and node.arg == "extra":
            text = ast.unparse(node.value)
            is_name = text == "about" or text.endswith("ready.log_fields()")
            assert is_name or isinstance(node.value, ast.Dict), file
        elif not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "about"):
            continue
        if isinstance(node.value, ast.Dict):
            yield from (ast.literal_eval(key) for key in node.value.keys if key is not None)


def test_fields_of_all_lines_are_documented() -> None:
    failed = record(exc_info=(ValueError, ValueError("x"), None))
    fields = fields_of_calls() | {*json.loads(JsonFormatter().format(failed))}
    fields |= Ready().log_fields().keys()
    for package in ("server", "http_gateway"):
        for file in (ROOT / package).rglob("*.py"):
            fields.update(extra_fields(file))

    documented = {
        name.strip("` ")
        for cells in table(OPERATION, "field | lines | meaning")
        for name in cells[0].split(",")
    }
    assert documented == fields


async def log_errors_of_grpc() -> None:
    """Lets grpc.aio log an error of sending to a disconnected client, and another one.

    grpc.aio logs the first one only if it receives the end of the call too late. So the error is
    raised again in a call whose client is connected.
    """
    errors: list[Exception] = []
    started, ended = asyncio.Event(), asyncio.Event()

    async def handler(_request: bytes, context: Any) -> bytes:
        if errors:
            raise errors.pop()
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with pytest.raises(aio.InternalError) as raised:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT)
            errors.extend([type(raised.value)("Failed grpc_call_start_batch: 8"), raised.value])
            ended.set()
            raise
        return b""

    server = aio.server()
    handlers = {"Call": grpc.unary_unary_rpc_method_handler(handler)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        method = channel.unary_unary("/test/Call")
        left = method(b"")
        await started.wait()
        left.cancel()
        await ended.wait()
        for left_over in (1, 0):
            call = method(b"")
            while len(errors) > left_over:  # noqa: ASYNC110 - the handler sets no event
                await asyncio.sleep(0.01)
            call.cancel()
    await server.stop(0)


def test_errors_of_grpc_are_logged_except_about_disconnected_clients(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger(GRPC)
    asyncio.run(log_errors_of_grpc())
    logger.addFilter(is_no_disconnection)
    asyncio.run(log_errors_of_grpc())
    logger.removeFilter(is_no_disconnection)

    logged = [str(record.exc_info[1]).split(":")[0] for record in caplog.records if record.exc_info]
    not_sent, other = 'Failed "execute_batch"', "Failed grpc_call_start_batch"
    assert logged == [not_sent, other, other]
