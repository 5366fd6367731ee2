"""The unit, started by a real systemd that is the first process of a machine of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ...fronts import HttpFront
from ...parts import free_port, status_of, wait_until
from ...webhooks.receiver import listening
from .machine import ROOT, Image, Machine, machine

pytestmark = pytest.mark.verify

UNIT = ROOT / "server/deploy/roster.service"
STATE = "/var/lib/roster"
DATABASE = f"ROSTER_DATABASE_URL=sqlite:///{STATE}/roster.db"


@pytest.fixture(scope="module")
def address() -> str:
    """Where the service is to serve HTTP."""
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def booted(
    image: Image, address: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    """A machine that systemd has started, with the unit, its user and its settings."""
    folder = tmp_path_factory.mktemp("etc")
    (folder / "user.conf").write_text(f'u roster - "" {STATE}\n')
    (folder / "roster.env").write_text(
        f"ROSTER_HTTP_ADDRESS={address}\nROSTER_GRPC_ADDRESS=127.0.0.1:0\n"
        "ROSTER_METRICS_ADDRESS=127.0.0.1:0\n"
        "ROSTER_WEBHOOK_ALLOW_NETS=127.0.0.0/8\nROSTER_WEBHOOK_ALLOW_HTTP=true\n"
    )
    places = {
        folder / "user.conf": "/etc/sysusers.d/roster.conf",
        folder / "roster.env": "/etc/roster/roster.env",
        UNIT: "/etc/systemd/system/roster.service",
    }
    bound = [f"--bind-ro={file}:{place}" for file, place in places.items()]
    with machine(image, folder / "log", "--boot", "--volatile=overlay", *bound) as booted:
        wait_until(lambda: is_up(booted), "systemd does not start it")
        yield booted


def is_up(booted: Machine) -> bool:
    """Whether the machine has started; all but Roster may do as it likes."""
    state = booted.run("systemctl", "is-system-running").stdout.strip()
    return state in ("running", "degraded")


@pytest.fixture
def started(booted: Machine, address: str) -> Iterator[Machine]:
    """The machine while the service runs."""
    booted.says("systemctl", "start", "roster")
    wait_until(lambda: answers(address), "it does not answer")
    yield booted
    booted.says("systemctl", "stop", "roster")


def answers(address: str) -> bool:
    """Whether the service is ready."""
    try:
        return status_of(address, "/readyz") == 200
    except OSError:
        return False


def shown(booted: Machine, name: str) -> str:
    """Returns what systemd says of the service."""
    return booted.says("systemctl", "show", "--value", f"--property={name}", "roster")


def test_service_runs_as_a_user_without_rights_within_filters(started: Machine) -> None:
    text = started.says("cat", f"/proc/{shown(started, 'MainPID')}/status")
    status = dict(re.findall(r"(\w+):\t(.*)", text))

    assert set(status["Uid"].split()) == {started.says("id", "--user", "roster")}
    assert {int(status[f"Cap{name}"], 16) for name in ("Eff", "Prm", "Bnd", "Amb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_accounts_are_made_beside_it_and_served_to_their_webhooks(
    started: Machine, address: str
) -> None:
    made = started.says(
        *("runuser", "-u", "roster", "--", "env", "--chdir=/", DATABASE),
        *("/opt/roster/bin/roster", "accounts", "create", "--email", "a@example.com", "--json"),
    )
    front, key = HttpFront("http", address), json.loads(made)["apiKey"]

    with listening() as receiver:
        assert front.call("CreateWebhook", key, {"url": receiver.url}).status == 201
        assert front.call("CreateSubscriber", key, {"email": "ada@example.com"}).status == 201
        (request,) = receiver.wait_for(1)

    assert request.event["type"] == "subscriber.created"


def test_killed_service_is_started_again(started: Machine, address: str) -> None:
    before = shown(started, "MainPID")

    started.says("systemctl", "kill", "--signal=KILL", "roster")

    wait_until(lambda: shown(started, "MainPID") not in (before, "0"), "it was left dead")
    wait_until(lambda: answers(address), "it does not answer")


def test_stopped_service_ends_with_0_and_has_written_beside_its_database_alone(
    started: Machine,
) -> None:
    started.says("systemctl", "stop", "roster")

    assert shown(started, "Result") == "success"
    assert shown(started, "ExecMainStatus") == "0"
    owned = started.says("find", "/", "-xdev", "-user", "roster", "-not", "-path", "/proc/*")
    assert {Path(line) for line in owned.splitlines()} == {
        Path(STATE),
        *(Path(STATE, f"roster.db{ending}") for ending in ("", ".key", ".lock")),
    }


def test_journal_has_the_log_and_no_key(started: Machine, address: str) -> None:
    status_of(address, "/api/tags")

    wait_until(lambda: '"code":"UNAUTHENTICATED"' in journal(started), "the call is not there")
    assert "rk_" not in journal(started)


def journal(booted: Machine) -> str:
    """Returns what the journal has of the service."""
    return booted.says("journalctl", "--unit=roster", "--output=cat")


def test_service_with_a_wrong_setting_is_left_at_that(booted: Machine) -> None:
    booted.says("systemctl", "set-environment", "ROSTER_LOG_LEVEL=loud")
    booted.says("systemctl", "start", "roster")

    wait_until(lambda: shown(booted, "ActiveState") == "failed", "it goes on")

    assert (shown(booted, "ExecMainStatus"), shown(booted, "NRestarts")) == ("2", "0")
