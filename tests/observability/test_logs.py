"""The log: JSON for programs, text for people, by what reads it."""

from __future__ import annotations

import io
import logging
import os
import pty
from collections.abc import Iterator

import pytest

from server.logs import JsonFormatter, TextFormatter, is_text


@pytest.fixture
def terminal() -> Iterator[io.TextIOWrapper]:
    """The side of a terminal that a program writes to."""
    other, own = pty.openpty()
    with os.fdopen(own, "w") as target:
        yield target
    os.close(other)


def test_a_terminal_gets_text_and_a_file_json_unless_told_otherwise(
    terminal: io.TextIOWrapper,
) -> None:
    file = io.StringIO()

    told = [(is_text(form, terminal), is_text(form, file)) for form in ("auto", "json", "text")]

    assert told == [(True, False), (False, False), (True, True)]


def record(**more: object) -> logging.LogRecord:
    """Returns what is to be logged."""
    made = logging.makeLogRecord({"levelname": "WARNING", "name": "server.x", "msg": "it %s"})
    made.args, made.created = ("burns",), 1.5
    vars(made).update(more)
    return made


def test_both_forms_have_what_came_along() -> None:
    given = record(requestId="abc", nothing=None)

    assert JsonFormatter().format(given) == (
        '{"time":"1970-01-01T00:00:01.500Z","level":"warning","logger":"server.x",'
        '"message":"it burns","requestId":"abc"}'
    )
    assert TextFormatter().format(given) == "00:00:01.500Z warning  it burns requestId=abc"


def test_text_has_the_trace_of_an_error_below_it() -> None:
    error = ValueError("no")

    text = TextFormatter().format(record(exc_info=(ValueError, error, None)))

    assert text.splitlines() == ["00:00:01.500Z warning  it burns", "ValueError: no"]
