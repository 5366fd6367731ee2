"""Tests where processes serve metrics."""

from __future__ import annotations

import os
import signal
import socket
import ssl
from pathlib import Path
from select import select
from urllib.request import urlopen

import pytest

from ..components import child_processes, free_port, launch, running, wait_until
from ..postgres import Postgres
from ..stubs.authority import Authority
from .helpers import metrics_url, samples_of

STARTED = "process_start_time_seconds"


def values_by_process(url: str, name: str) -> dict[str, float]:
    samples = samples_of(url).items()
    return {dict(labels)["process"]: value for (found, labels), value in samples if found == name}


@pytest.mark.verify
def test_metrics_of_several_processes_are_on_one_page(postgres: Postgres, tmp_path: Path) -> None:
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_PROCESSES": "2",
    }
    with running("serve-grpc", tmp_path, **settings) as server:
        url = metrics_url(server.printed)
        for name in ("roster_process_up", "process_cpu_seconds_total", "roster_executor_threads"):
            assert values_by_process(url, name).keys() == {"0", "1"}
        before = values_by_process(url, STARTED)

        os.kill(child_processes(server.process.pid)[0], signal.SIGKILL)

        def is_replaced() -> bool:
            after = values_by_process(url, STARTED)
            return after.keys() == {"0", "1"} and len(after.items() - before.items()) == 1

        wait_until(is_replaced, "the killed process was not replaced")
        assert values_by_process(url, "roster_process_up")["0"] == 1


# Runs a command with this default address for metrics.
WITH_DEFAULT = """
import sys
from rosterd.server.config import Settings
Settings.metrics_address.default_of = lambda command: "{address}"
# Commands read their defaults when they are imported.
for name in [name for name in sys.modules if name.startswith("rosterd.server.cli")]:
    del sys.modules[name]
from rosterd.server.cli import main
main()
"""


@pytest.mark.parametrize(
    ("command", "processes"),
    [
        ("serve", "1"),
        pytest.param("serve", "2", marks=pytest.mark.verify),
        pytest.param("worker", "", marks=pytest.mark.verify),
    ],
)
def test_default_port_that_is_in_use_is_a_warning_and_metrics_are_not_served(
    postgres: Postgres, tmp_path: Path, command: str, processes: str
) -> None:
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_LOG_LEVEL": "warning",
        "ROSTER_METRICS_ADDRESS": "",
    }
    settings |= {"ROSTER_PROCESSES": processes} if processes else {}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        code = WITH_DEFAULT.format(address=address)
        component = launch(command, tmp_path / "log", code=code, **settings)
        try:
            # The addresses are printed once the process serves.
            wait_until(lambda: bool(select([component.process.stdout], [], [], 0)[0]), "no output")
        finally:
            exit_code = component.stop()
    assert exit_code == 0, component.log.read_text()
    warnings = [line for line in component.log.read_text().splitlines() if "not served" in line]
    assert len(warnings) == 1
    assert address in warnings[0]
    assert "ROSTER_METRICS_ADDRESS" in warnings[0]


def test_gateway_serves_metrics_of_http_over_tls(tmp_path: Path) -> None:
    authority = Authority()
    certificate, key = authority.certify("server")
    (tmp_path / "server.pem").write_bytes(certificate)
    (tmp_path / "server.key").write_bytes(key)
    settings = {
        "ROSTER_UPSTREAM": f"127.0.0.1:{free_port()}",
        "ROSTER_METRICS_ADDRESS": "0.0.0.0:0",
        "ROSTER_METRICS_TLS_CERTIFICATE": str(tmp_path / "server.pem"),
        "ROSTER_METRICS_TLS_KEY": str(tmp_path / "server.key"),
    }
    trusting = ssl.create_default_context(cadata=authority.certificate.decode())
    with running("serve-http", tmp_path, **settings) as gateway:
        url = metrics_url(gateway.printed).replace("0.0.0.0", "127.0.0.1")
        with urlopen(url, context=trusting, timeout=20) as response:
            page = response.read()

    assert url.startswith("https://")
    assert b"roster_http_connections " in page
    assert b"roster_executor" not in page
    assert b"roster_rpc" not in page
