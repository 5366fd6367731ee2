"""Tests the JSON and text formats of the log."""

from __future__ import annotations

import ast
import io
import json
import logging
import os
import pty
from collections.abc import Iterator
from pathlib import Path

import pytest

from rosterd.server.observability.logs import JsonFormatter, TextFormatter, is_text
from rosterd.server.observability.request_log import json_line
from rosterd.server.observability.request_record import RequestRecord
from rosterd.server.rpc.caller import Caller

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
    call.caller = Caller("a", "k", "read", email_verified=True, key_name="n")
    page = RequestRecord("abc")
    page.route = "/docs"
    return {*json.loads(json_line(call)), *json.loads(json_line(page))}


def extra_fields(file: Path) -> Iterator[str]:
    """Yields the fields that a module passes to its log as `extra`, or in a variable `about`."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.keyword) and node.arg == "extra":
            assert isinstance(node.value, ast.Dict) or ast.unparse(node.value) == "about", file
        elif not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "about"):
            continue
        if isinstance(node.value, ast.Dict):
            yield from (ast.literal_eval(key) for key in node.value.keys if key is not None)


def test_fields_of_all_lines_are_documented() -> None:
    failed = record(exc_info=(ValueError, ValueError("x"), None))
    fields = fields_of_calls() | {*json.loads(JsonFormatter().format(failed))}
    for package in ("server", "http_gateway"):
        for file in (ROOT / package).rglob("*.py"):
            fields.update(extra_fields(file))

    documented = {
        name.strip("` ")
        for cells in table(OPERATION, "field | lines | meaning")
        for name in cells[0].split(",")
    }
    assert documented == fields
