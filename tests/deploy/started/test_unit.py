"""Runs the systemd unit in a machine that boots systemd."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ...components import free_port, status_of, wait_until
from ...features.webhooks.receiver import listening
from ...fronts import HttpFront
from .machine import ROOT, Image, Machine, machine

pytestmark = pytest.mark.verify

UNIT = ROOT / "server/deploy/roster.service"
STATE = "/var/lib/roster"
DATABASE = f"ROSTER_DATABASE_URL=sqlite:///{STATE}/roster.db"


@pytest.fixture(scope="module")
def address() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def booted(
    image: Image, address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A booted machine with the unit, its user and its settings."""
    folder = tmp_path_factory.mktemp("etc")
    (folder / "user.conf").write_text(f'u roster - "" {STATE}\n')
    (folder / "roster.env").write_text(
        f"ROSTER_HTTP_ADDRESS={address}\nROSTER_GRPC_ADDRESS=127.0.0.1:0\n"
        "ROSTER_METRICS_ADDRESS=127.0.0.1:0\n"
        "ROSTER_WEBHOOK_ALLOW_NETS=127.0.0.0/8\nROSTER_WEBHOOK_ALLOW_HTTP=true\n"
    )
    files = {
        folder / "user.conf": "/etc/sysusers.d/roster.conf",
        folder / "roster.env": "/etc/roster/roster.env",
        UNIT: "/etc/systemd/system/roster.service",
    }
    bound = [f"--bind-ro={file}:{target}" for file, target in files.items()]
    with machine(image, folder / "log", "--boot", "--volatile=overlay", *bound) as booted:
        wait_until(lambda: is_up(booted), "the machine does not boot")
        yield booted


def is_up(booted: Machine) -> bool:
    """Returns whether the machine has booted; other services may have failed."""
    state = booted.run("systemctl", "is-system-running").stdout.strip()
    return state in ("running", "degraded")


@pytest.fixture
def started(booted: Machine, address: str) -> Iterator[Machine]:
    """The machine with the running service."""
    booted.output("systemctl", "start", "roster")
    yield booted
    booted.output("systemctl", "stop", "roster")


def is_ready(address: str) -> bool:
    """Returns whether the service is ready."""
    try:
        return status_of(address, "/readyz") == 200
    except OSError:
        return False


def shown(booted: Machine, name: str) -> str:
    """Returns a property of the service in systemd."""
    return booted.output("systemctl", "show", "--value", f"--property={name}", "roster")


def test_service_is_ready_when_it_has_started(started: Machine, address: str) -> None:
    assert is_ready(address)


def test_service_runs_without_privileges(started: Machine) -> None:
    text = started.output("cat", f"/proc/{shown(started, 'MainPID')}/status")
    status = dict(re.findall(r"(\w+):\t(.*)", text))

    assert set(status["Uid"].split()) == {started.output("id", "--user", "roster")}
    assert {int(status[f"Cap{name}"], 16) for name in ("Eff", "Prm", "Bnd", "Amb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def new_key(started: Machine, email: str) -> str:
    """Creates an account with the command line, and returns its key."""
    created = started.output(
        *("runuser", "-u", "roster", "--", "env", "--chdir=/", DATABASE),
        *("/opt/roster/bin/roster", "accounts", "create", "--email", email, "--json"),
    )
    key: str = json.loads(created)["secret"]
    return key


def test_account_of_the_command_line_can_use_webhooks(started: Machine, address: str) -> None:
    front, key = HttpFront("http", address), new_key(started, "a@example.com")

    with listening() as receiver:
        assert front.call("CreateWebhook", key, {"url": receiver.url}).status == 201
        assert front.call("CreateSubscriber", key, {"email": "ada@example.com"}).status == 201
        (request,) = receiver.wait_for(1)

    assert request.event["type"] == "subscriber.created"


def test_killed_service_is_restarted(started: Machine, address: str) -> None:
    before = shown(started, "MainPID")

    started.output("systemctl", "kill", "--signal=KILL", "roster")

    wait_until(
        lambda: shown(started, "MainPID") not in (before, "0"), "the service is not restarted"
    )
    wait_until(lambda: is_ready(address), "the service is not ready")


def test_stopped_service_exits_with_0_and_wrote_to_its_folder_only(
    started: Machine,
) -> None:
    started.output("systemctl", "stop", "roster")

    assert shown(started, "Result") == "success"
    assert shown(started, "ExecMainStatus") == "0"
    owned = started.output("find", "/", "-xdev", "-user", "roster", "-not", "-path", "/proc/*")
    assert {Path(line) for line in owned.splitlines()} == {
        Path(STATE),
        *(Path(STATE, f"roster.db{ending}") for ending in ("", ".key", ".lock")),
    }


def test_journal_contains_the_log_and_no_key(started: Machine, address: str) -> None:
    status_of(address, "/api/tags")

    wait_until(lambda: '"code":"UNAUTHENTICATED"' in journal(started), "the call is not logged")
    assert "rk_" not in journal(started)


def journal(booted: Machine) -> str:
    return booted.output("journalctl", "--unit=roster", "--output=cat")


def test_service_with_an_invalid_setting_is_not_restarted(booted: Machine) -> None:
    booted.output("systemctl", "set-environment", "ROSTER_LOG_LEVEL=loud")

    assert booted.run("systemctl", "start", "roster").returncode != 0

    assert shown(booted, "ActiveState") == "failed"
    assert (shown(booted, "ExecMainStatus"), shown(booted, "NRestarts")) == ("2", "0")
