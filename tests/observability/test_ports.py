"""Where figures are told: by each process that serves, and by several as one."""

from __future__ import annotations

import os
import signal
import socket
import ssl
from pathlib import Path
from select import select
from urllib.request import urlopen

import pytest

from server.console import ExitCode

from ..cli.test_commands import complaint, roster
from ..parts import free_port, launch, running, wait_until, workers_of
from ..postgres import Postgres
from ..stubs.authority import Authority
from .helpers import Samples, place_of, samples_of


def workers_told(samples: Samples, name: str) -> set[str]:
    """Returns the workers of which there is a sample."""
    return {dict(labels)["worker"] for found, labels in samples if found == name}


def test_several_workers_tell_their_figures_on_one_page_each_under_its_number(
    postgres: Postgres, tmp_path: Path
) -> None:
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_database(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_WORKERS": "2",
    }
    with running("server", tmp_path, **settings) as server:
        url = place_of(server.printed)
        first = samples_of(url)
        assert workers_told(first, "roster_worker_up") == {"0", "1"}
        assert workers_told(first, "process_cpu_seconds_total") == {"0", "1"}
        assert workers_told(first, "roster_executor_threads") == {"0", "1"}
        started = starts(first)

        os.kill(workers_of(server.process.pid)[0], signal.SIGKILL)

        wait_until(
            lambda: (
                starts(samples_of(url)).keys() == {"0", "1"}
                and len(starts(samples_of(url)).items() - started.items()) == 1
            ),
            "nobody came back",
        )
        assert samples_of(url)["roster_worker_up", frozenset({("worker", "0")})] == 1


def starts(samples: Samples) -> dict[str, float]:
    """Returns when each worker was started."""
    return {
        dict(labels)["worker"]: value
        for (name, labels), value in samples.items()
        if name == "process_start_time_seconds"
    }


def test_a_gateway_tells_of_http_and_of_no_database(tmp_path: Path) -> None:
    with running("gateway", tmp_path, ROSTER_UPSTREAM=f"127.0.0.1:{free_port()}") as gateway:
        names = {name for name, _ in samples_of(place_of(gateway.printed))}

    assert "roster_http_connections" in names
    assert not [name for name in names if name.startswith(("roster_executor", "roster_rpc"))]


def test_without_an_address_nobody_is_told(tmp_path: Path) -> None:
    settings = {"ROSTER_UPSTREAM": f"127.0.0.1:{free_port()}", "ROSTER_METRICS_ADDRESS": "off"}
    with running("gateway", tmp_path, **settings) as gateway:
        assert "metrics" not in "".join(gateway.printed)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ROSTER_METRICS_ADDRESS": "0.0.0.0:0"}, "ROSTER_METRICS_TLS_CERTIFICATE"),
        ({"ROSTER_LOG_FORMAT": "xml"}, "ROSTER_LOG_FORMAT"),
        ({"ROSTER_TRACING": "yes"}, "ROSTER_TRACING"),
    ],
)
def test_a_setting_that_is_wrong_is_named(settings: dict[str, str], words: str) -> None:
    assert words in complaint(roster("gateway", **settings), ExitCode.USAGE)


# Runs a command whose default address for metrics is the first argument.
WITH_DEFAULT = """
import sys
from server.cli import gateway, serve, server, worker
address = sys.argv.pop(1)
for command in (gateway.gateway, serve.serve, server.server, worker.worker):
    names = command.__code__.co_varnames[:command.__code__.co_argcount]
    defaults = dict(zip(reversed(names), reversed(command.__defaults__)))
    defaults["metrics_address"] = address
    command.__defaults__ = tuple(defaults[name] for name in names if name in defaults)
from server.cli import main
main()
"""


@pytest.mark.parametrize(
    ("command", "workers"),
    [("serve", "1"), ("serve", "2"), ("server", "1"), ("gateway", "1"), ("worker", "")],
)
def test_default_port_that_is_in_use_is_a_warning_and_metrics_are_not_served(
    postgres: Postgres, tmp_path: Path, command: str, workers: str
) -> None:
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_database(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_LOG_LEVEL": "warning",
        "ROSTER_METRICS_ADDRESS": "",
    }
    settings |= {"ROSTER_WORKERS": workers} if workers else {}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        under = ["-c", WITH_DEFAULT, address]
        part = launch(command, tmp_path / "log", program=under, **settings)
        try:
            # It says where it serves once it does.
            wait_until(lambda: bool(select([part.process.stdout], [], [], 0)[0]), "it is silent")
        finally:
            code = part.stop()
    assert code == 0, part.log.read_text()
    warnings = [line for line in part.log.read_text().splitlines() if "not served" in line]
    assert len(warnings) == 1
    assert address in warnings[0]
    assert "ROSTER_METRICS_ADDRESS" in warnings[0]


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = roster("gateway", ROSTER_METRICS_ADDRESS=address)

    assert "ROSTER_METRICS_ADDRESS" in complaint(done, ExitCode.PORT_IN_USE)


def test_figures_are_told_over_tls_beyond_this_machine(tmp_path: Path) -> None:
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
    with running("gateway", tmp_path, **settings) as gateway:
        url = place_of(gateway.printed).replace("0.0.0.0", "127.0.0.1")
        with urlopen(url, context=trusting, timeout=20) as answer:
            page = answer.read()

    assert url.startswith("https://")
    assert b"roster_http_connections " in page
