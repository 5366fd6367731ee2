"""Tests the JSON and text formats of the log."""

from __future__ import annotations

import io
import logging
import os
import pty
from collections.abc import Iterator

import pytest

from rosterd.server.observability.logs import JsonFormatter, TextFormatter, is_text


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
