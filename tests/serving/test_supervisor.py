"""Tests of the supervisor with a program that takes the place of `roster serve`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict
from errno import EAGAIN, ENOMEM
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.serving.options import ObservabilityOptions
from rosterd.server.serving.ready import Ready
from rosterd.server.serving.supervisor import Supervisor
from rosterd.server.values.addresses import Address

from ..components import free_port, wait_until
from ..observability.helpers import samples_of, value

STABLE_SECONDS = 0.1
# The first process serves until the file "ended" exists. Later ones end before they serve.
WORKER = f"""
import pathlib, sys, time
folder = pathlib.Path(__file__).parent
if not folder.joinpath("started").exists():
    folder.joinpath("started").touch()
    print(folder.joinpath("report").read_text(), flush=True)
    while not folder.joinpath("ended").exists():
        time.sleep(0.01)
else:
    time.sleep({2 * STABLE_SECONDS})
sys.exit(3)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of the package that processes run."""
    folder = tmp_path / "rosterd" / "server"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "__main__.py").write_text(WORKER)
    return folder


def supervise(
    package: Path, ready: Ready, metrics: Address | None, ends: Callable[[], bool]
) -> None:
    """Supervises a process with this report until a condition holds."""
    (package / "report").write_text(json.dumps(asdict(ready)))
    options = ObservabilityOptions(
        metrics,
        address_is_set=True,
        identity=None,
        log_level="error",
        log_sampling=1,
        as_text=False,
        traces=False,
    )
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1])}

    async def run() -> None:
        supervisor = Supervisor("serve", environment, options, stable_seconds=STABLE_SECONDS)
        serving = asyncio.create_task(supervisor.serve(1))
        await asyncio.to_thread(wait_until, ends, "the condition does not hold")
        os.kill(os.getpid(), signal.SIGTERM)
        await serving

    asyncio.run(run())


def test_process_that_ends_before_it_serves_is_replaced_after_increasing_delays(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (package / "ended").touch()

    supervise(package, Ready(), None, lambda: len(caplog.records) >= 4)

    assert [record.getMessage().split("replaced in ")[1] for record in caplog.records] == [
        "0 seconds",
        "0.5 seconds",
        "1 seconds",
        "2 seconds",
    ]


def test_process_that_cannot_be_created_is_tried_again(
    package: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    create, failures = asyncio.create_subprocess_exec, [EAGAIN, None, EAGAIN, ENOMEM]

    async def limited(*arguments: Any, **options: Any) -> Any:
        if failures and (failure := failures.pop(0)):
            raise OSError(failure, os.strerror(failure))
        return await create(*arguments, **options)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", limited)
    (package / "ended").touch()

    supervise(package, Ready(), None, lambda: len(caplog.records) >= 5)

    cannot = "a process cannot be started"
    assert [record.getMessage().split(": ")[0] == cannot for record in caplog.records] == [
        True,
        False,
        True,
        True,
        False,
    ]


class OtherMetrics(BaseHTTPRequestHandler):
    """Serves the metrics of another process."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"other_process 1.0\n")

    def log_message(self, *_: object) -> None:
        """Disables logging."""


def test_ended_process_is_down_even_if_another_process_listens_on_its_metrics_port(
    package: Path,
) -> None:
    address = Address("127.0.0.1", free_port())

    def is_down() -> bool:
        if not (package / "started").exists():
            return False
        samples = samples_of(f"http://{address}/metrics")
        if value(samples, "other_process", process="0"):
            (package / "ended").touch()
        return (package / "ended").exists() and not value(samples, "roster_process_up", process="0")

    with ThreadingHTTPServer(("127.0.0.1", 0), OtherMetrics) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        ready = Ready(metrics=f"http://127.0.0.1:{other.server_port}")
        supervise(package, ready, address, is_down)
        other.shutdown()
