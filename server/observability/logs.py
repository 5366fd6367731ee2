"""Logs to standard error, as JSON lines or as text."""

from __future__ import annotations

import logging
from typing import Any, TextIO

import orjson

from ..config import AUTO, TEXT
from .log_writer import STANDARD_ERROR
from .request_log import timestamp

# The attributes of every record. All others come from `extra`.
_STANDARD = frozenset(vars(logging.makeLogRecord({})))
# The logger of grpc.aio.
GRPC = "grpc._cython.cygrpc"
# The error of gRPC if the connection has closed. Other errors of a batch have another text.
_NOT_SENT = 'Failed "execute_batch": '


class JsonFormatter(logging.Formatter):
    """Formats time, level, logger, message, the attributes of `extra`, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": timestamp(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    """Formats the time of day, level, message, the attributes of `extra`, and a traceback."""

    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = (
            f"{timestamp(record.created)[11:]} {record.levelname.lower():<8} {record.getMessage()}"
        )
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{line}{extra}{trace}"


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        try:
            STANDARD_ERROR.write(f"{self.format(record)}\n".encode(errors="backslashreplace"))
        except Exception:  # noqa: BLE001 - as in the handlers of the standard library
            self.handleError(record)

    def flush(self) -> None:
        """Writes the remaining lines. `logging` calls it at the end of the process."""
        STANDARD_ERROR.flush()


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _STANDARD and value is not None
    }


def is_no_disconnection(record: logging.LogRecord) -> bool:
    """Whether a record of gRPC is not about a client that disconnected.

    gRPC logs that as an error if a message or the status of a call cannot be sent and the end of
    the call has not been received yet. The call has its own line with its status.
    """
    error = record.exc_info[1] if record.exc_info else None
    return not str(error).startswith(_NOT_SENT)


def is_text(log_format: str, target: TextIO) -> bool:
    """Whether lines to this stream are text: `auto` selects text on a terminal."""
    return log_format == TEXT or (log_format == AUTO and target.isatty())


def configure(level: str, *, as_text: bool = False) -> None:
    """Logs everything of at least this level to standard error."""
    handler = _Handler()
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # The info messages of libraries do not help operators.
    for library in ("peewee", "grpc", "asyncio", "aiohttp", "opentelemetry"):
        logging.getLogger(library).setLevel(
            max(logging.WARNING, logging.getLevelName(level.upper()))
        )
    logging.getLogger(GRPC).addFilter(is_no_disconnection)
