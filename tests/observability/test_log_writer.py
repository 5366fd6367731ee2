"""Tests that a reader of the log that stalls stops no call and loses no line."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rosterd.server.observability import log_writer
from rosterd.server.observability.log_writer import LogWriter

from ..components import wait_until
from ..conftest import new_account
from ..fronts import HttpFront
from ..processes import start

CALLS = 100


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe with room for one page."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    yield reader, writer
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("reads_at_stop", [True, pytest.param(False, marks=pytest.mark.verify)])
def test_service_with_a_stalled_log_serves_and_stops(tmp_path: Path, reads_at_stop: bool) -> None:
    log = tmp_path / "service.log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    service = start(tmp_path)
    front = HttpFront("http", service.http)
    account = new_account(service, front)

    ids = [front.exchange("GET", "/api/tags", account.key)[1]["x-request-id"] for _ in range(CALLS)]

    with os.fdopen(reader, "rb") as file, ThreadPoolExecutor() as pool:
        os.set_blocking(reader, True)
        text = pool.submit(file.read) if reads_at_stop else None
        assert service.stop() == 0
        if text is not None:
            lines = text.result().decode()
            assert [request_id for request_id in ids if request_id not in lines] == []


def test_lines_beyond_the_maximum_are_dropped_and_counted(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_writer, "MAX_BYTES", 8000)
    reader, descriptor = pipe
    writer = LogWriter(descriptor)
    line = b"x" * 999 + b"\n"

    for _ in range(20):
        writer.write(line)

    assert writer.dropped > 0
    content = b""
    while content.count(b"\n") + writer.dropped < 20:
        content += os.read(reader, 4096)
    wait_until(
        lambda: sum(_lost(record) for record in caplog.records) == writer.dropped,
        "the loss was not logged",
    )


def _lost(record: logging.LogRecord) -> int:
    assert isinstance(record.args, tuple)
    return int(str(record.args[0]))
