"""Checks the systemd unit against the program, and with systemd-analyze."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from rosterd.server import cli
from rosterd.server.config import SETTINGS
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.process import STOP_SECONDS
from rosterd.server.values.database_url import parse_database_url

from ..tools import program

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "server/deploy/roster.service"
# The programs that the unit expects in /opt.
INSTALLED = Path(sys.executable).parent
# The exposure of a service from 0 to 100, as systemd-analyze computes it.
MAX_EXPOSURE = 15


def section_of(section: str) -> dict[str, list[str]]:
    """Returns the values of a section by name; a name can have several."""
    found: dict[str, list[str]] = defaultdict(list)
    text = UNIT.read_text().partition(f"[{section}]")[2].partition("\n[")[0]
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[name].append(value)
    return found


SERVICE = section_of("Service")


def test_unit_starts_an_existing_command_with_existing_flags() -> None:
    ((file, name, *flags),) = (value.split() for value in SERVICE["ExecStart"])
    command = cli.app.commands[name]

    assert (INSTALLED / Path(file).name).exists()
    assert {flag.partition("=")[0] for flag in flags} <= {
        name for parameter in command.params for name in parameter.opts
    }


def test_unit_sets_existing_settings_and_a_writable_database() -> None:
    settings = dict(value.split("=", 1) for value in SERVICE["Environment"])
    (folder,) = SERVICE["StateDirectory"]

    assert settings.keys() <= {setting.environment for setting in SETTINGS.values()}
    location = parse_database_url(settings["ROSTER_DATABASE_URL"])
    assert location == Path("/var/lib", folder, "roster.db")


def test_unit_waits_for_the_stop_and_does_not_restart_after_invalid_settings() -> None:
    assert float(SERVICE["TimeoutStopSec"][0]) > STOP_SECONDS + 1
    assert SERVICE["KillSignal"] == ["SIGTERM"]
    codes = f"{ExitCode.USAGE:d} {ExitCode.OUTDATED:d}"
    assert SERVICE["RestartPreventExitStatus"] == [codes]


def test_unit_is_active_when_the_service_is_ready_and_a_long_migration_is_not_ended() -> None:
    assert SERVICE["Type"] == ["notify"]
    assert SERVICE["TimeoutStartSec"] == ["infinity"]


def test_unit_reloads_certificates_with_sighup() -> None:
    assert SERVICE["ExecReload"] == ["/bin/kill -HUP $MAINPID"]


def test_unit_keeps_the_first_key_out_of_the_journal() -> None:
    assert SERVICE["StandardOutput"] == ["null"]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with the paths of this installation."""
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text().replace("/opt/roster/bin", str(INSTALLED)))
    return file


@pytest.mark.verify
@pytest.mark.parametrize(
    "question", [["verify"], ["security", "--offline=true", f"--threshold={MAX_EXPOSURE}"]]
)
def test_systemd_accepts_the_unit(unit: Path, question: list[str]) -> None:
    analyze = program("systemd-analyze", "systemd")

    done = subprocess.run([analyze, *question, unit], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
