"""Writes log lines of calls to standard error.

Calls that fail because of the service have the level warning, others the level info. Of the calls
that succeed, one in `sampling` is logged.

Lines are formatted in batches, 50 times a second. Lines that are not written yet are lost if the
process is killed. All other messages use `logging`, in the same format.

A line is formatted with its batch, not when the call ends, because gRPC serializes the response
after the end of the handler. Many lines together also take less time.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import cache, lru_cache

import orjson

from ..values.sampling import Sampling
from .log_writer import STANDARD_ERROR, LogWriter
from .request_record import RequestRecord

# Short, because calls wait while a batch is formatted (99th percentile of `get_by_id` in
# `make bench`).
FLUSH_SECONDS = 0.02
# Health checks, which are logged only if they fail.
PROBES = frozenset({"/healthz", "/readyz"})
# gRPC status codes of calls that fail because of the service.
FAULTS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
INFO, WARNING = "info", "warning"


class RequestLog:
    """Writes the lines of calls, of at least a level."""

    def __init__(
        self,
        level: str = INFO,
        sampling: int = 1,
        writer: LogWriter = STANDARD_ERROR,
        *,
        as_text: bool = False,
    ) -> None:
        self._writer = writer
        self._pending: list[RequestRecord] = []
        self._format: Callable[[RequestRecord], str] = text_line if as_text else json_line
        self._logs_info = level in ("debug", INFO)
        self._sampling = Sampling(sampling)
        self.enabled = self._logs_info or level == WARNING

    def write(self, record: RequestRecord) -> None:
        """Adds the line of a call that has ended, unless its level or the sampling omits it."""
        if record.method:
            is_fault, has_succeeded = record.status >= 500, record.status < 400
        else:
            is_fault, has_succeeded = record.code in FAULTS, record.code == "OK"
        if is_fault:
            record.level = WARNING
        elif not self._logs_info or (has_succeeded and self._is_omitted(record.route)):
            return
        if not self._pending:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        record.ended = time.time()
        self._pending.append(record)

    def _is_omitted(self, route: str) -> bool:
        """Whether a call that has succeeded is a health check, or not sampled."""
        return route in PROBES or not self._sampling.selects_next()

    def flush(self) -> None:
        """Passes the pending lines to the writer."""
        pending, self._pending = self._pending, []
        if pending:
            self._writer.write("".join(map(self._format, pending)).encode())


def json_line(record: RequestRecord) -> str:
    """Formats a record as JSON. Of its values, only the name of the key needs escaping."""
    by = record.caller
    ids = _caller(by.account_id, by.actor.id, by.actor.name) if by else ""
    if record.client_address:
        ids += f'"clientAddress":"{record.client_address}",'
    if record.trace_id:
        ids += f'"traceId":"{record.trace_id}",'
    return (
        f'{{"time":"{timestamp(record.ended)}","level":"{record.level}","message":"call",'
        f"{_result(record.method, record.status, record.route, record.code)}"
        f'"durationMs":{record.seconds * 1000:.2f},'
        f'"received":{record.received},"sent":{record.sent},'
        f'{ids}"requestId":"{record.request_id}"}}\n'
    )


@cache
def _result(method: str, status: int, route: str, code: str) -> str:
    """Returns the members for fields of a record, which all have a limited number of values."""
    result = ""
    if method:
        result = f'"method":"{method}","status":{status},'
    if route:
        result += f'"{"page" if route[0] == "/" else "rpc"}":"{route}",'
    if code:
        result += f'"code":"{code}",'
    return result


@lru_cache(1_000)
def _caller(account_id: str, key_id: str, key_name: str) -> str:
    name = orjson.dumps(key_name).decode()
    return f'"accountId":"{account_id}","keyId":"{key_id}","keyName":{name},'


def text_line(record: RequestRecord) -> str:
    """Formats a record as text."""
    http = f"{record.method} {record.status} " if record.method else ""
    route = f"{record.route} " if record.route else ""
    code = f"{record.code} " if record.code else ""
    by = record.caller
    ids = f" accountId={by.account_id} keyId={by.actor.id}" if by else ""
    if record.client_address:
        ids += f" clientAddress={record.client_address}"
    return (
        f"{timestamp(record.ended)[11:]} {record.level:<8} {http}{route}{code}"
        f"{record.seconds * 1000:.1f} ms received={record.received} sent={record.sent}{ids}"
        f" requestId={record.request_id}\n"
    )


def timestamp(seconds: float) -> str:
    """Formats a time in ISO 8601 with milliseconds."""
    return _timestamp(int(seconds * 1000))


@lru_cache(4)
def _timestamp(milliseconds: int) -> str:
    seconds, fraction = divmod(milliseconds, 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{fraction:03}Z"
