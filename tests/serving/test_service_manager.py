"""Reports to systemd and the log that a process is ready, and that it stops."""

from __future__ import annotations

import json
import socket
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ..components import running
from ..postgres import Postgres


def notified(folder: Path, address: str, **settings: str) -> tuple[list[bytes], list[Any]]:
    """Runs a service, and returns what it sends to the service manager, and its log lines."""
    received = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(address.replace("@", "\0"))
        settings = {**settings, "NOTIFY_SOCKET": address, "ROSTER_LOG_LEVEL": "info"}
        with running("serve", folder, **settings) as service:
            manager.settimeout(20)
            received.append(manager.recv(64))
            service.stop()
            received.append(manager.recv(64))
        manager.setblocking(False)
        with pytest.raises(BlockingIOError):
            manager.recv(64)
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    return received, lines


@pytest.mark.parametrize(
    "name", ["{}/notify", pytest.param("@{}", marks=pytest.mark.verify)], ids=["path", "abstract"]
)
def test_service_manager_and_log_receive_when_a_process_is_ready_and_stops(
    tmp_path: Path, name: str
) -> None:
    url = f"sqlite:///{tmp_path}/roster.db"

    received, lines = notified(tmp_path, name.format(tmp_path), ROSTER_DATABASE_URL=url)

    assert received == [b"READY=1", b"STOPPING=1"]
    (ready,) = [line for line in lines if line["message"] == "ready"]
    (stopped,) = [line for line in lines if line["message"] == "stopped"]
    assert ready["version"] == version("roster")
    assert ready["http"].startswith("http://127.0.0.1:")
    assert ready["database"] == f"{tmp_path}/roster.db"
    assert {"grpc", "metrics"} < ready.keys()
    assert "rk_" not in json.dumps(lines)
    assert {**ready, "message": "stopped", "time": stopped["time"]} == stopped


@pytest.mark.verify
def test_only_the_supervisor_of_several_processes_notifies(
    postgres: Postgres, tmp_path: Path
) -> None:
    settings = {
        "ROSTER_DATABASE_URL": postgres.new_roster(),
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_PROCESSES": "2",
    }

    received, lines = notified(tmp_path, f"{tmp_path}/notify", **settings)

    assert received == [b"READY=1", b"STOPPING=1"]
    for message in ("ready", "stopped"):
        found = [line.get("processes") for line in lines if line["message"] == message]
        assert sorted(found, key=str) == [2, None, None]
