"""Logging, on standard error: one JSON object a line, or a line for people."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import orjson

from .observability.request_log import moment

LEVELS = ("debug", "info", "warning", "error")
AUTO, JSON, TEXT = "auto", "json", "text"
FORMATS = (AUTO, JSON, TEXT)

# What every record has; whatever else a record carries was put there by `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({})))


class JsonFormatter(logging.Formatter):
    """Writes time, level, logger, message, what came as `extra`, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": moment(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    """Writes the time of the day, level, message, what came as `extra`, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        more = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = f"{moment(record.created)[11:]} {record.levelname.lower():<8} {record.getMessage()}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{line}{more}{trace}"


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _STANDARD and value is not None
    }


def is_text(form: str, target: TextIO) -> bool:
    """Whether a form, one of FORMATS, means text where lines go to this target."""
    return form == TEXT or (form == AUTO and target.isatty())


def configure(level: str, *, as_text: bool = False) -> None:
    """Sends everything of at least this level to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # What a library says at its own info level is of no use to whoever runs Roster.
    for library in ("peewee", "grpc", "asyncio", "aiohttp", "opentelemetry"):
        logging.getLogger(library).setLevel(
            max(logging.WARNING, logging.getLevelName(level.upper()))
        )
