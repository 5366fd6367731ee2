"""The unit of systemd: what it starts is there, and what systemd itself thinks of it."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from typer.main import get_command

from server import cli
from server.config import SETTINGS
from server.console import ExitCode
from server.database_url import parse_database_url
from server.serving.process import STOP_SECONDS

from ..tools import program

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "server/deploy/roster.service"
# Where the tests have what the unit looks for in /opt.
INSTALLED = Path(sys.executable).parent
# Of 100, as systemd counts what a service could do to its machine; 100 is everything.
EXPOSED_AT_MOST = 15


def said(section: str) -> dict[str, list[str]]:
    """Returns what a section of the unit says, by name; some names are there more than once."""
    found: dict[str, list[str]] = defaultdict(list)
    text = UNIT.read_text().partition(f"[{section}]")[2].partition("\n[")[0]
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found[name].append(value)
    return found


SERVICE = said("Service")


def test_unit_starts_a_command_of_this_version_with_flags_that_it_has() -> None:
    ((file, name, *flags),) = (value.split() for value in SERVICE["ExecStart"])
    command = get_command(cli.app).commands[name]  # type: ignore[attr-defined]

    assert (INSTALLED / Path(file).name).exists()
    assert {flag.partition("=")[0] for flag in flags} <= {
        name for parameter in command.params for name in parameter.opts
    }


def test_unit_sets_settings_that_there_are_and_keeps_the_database_where_it_may_be_written() -> None:
    settings = dict(value.split("=", 1) for value in SERVICE["Environment"])
    (folder,) = SERVICE["StateDirectory"]

    assert settings.keys() <= {setting.environment for setting in SETTINGS.values()}
    place = parse_database_url(settings["ROSTER_DATABASE_URL"])
    assert place == Path("/var/lib", folder, "roster.db")


def test_unit_waits_longer_than_a_stop_takes_and_leaves_it_at_settings_that_are_wrong() -> None:
    assert float(SERVICE["TimeoutStopSec"][0]) > STOP_SECONDS + 1
    assert SERVICE["KillSignal"] == ["SIGTERM"]
    assert SERVICE["RestartPreventExitStatus"] == [str(int(ExitCode.USAGE))]


def test_unit_reloads_certificates_by_sighup_and_restarts_what_that_ends() -> None:
    assert SERVICE["ExecReload"] == ["/bin/kill -HUP $MAINPID"]
    assert SERVICE["RestartForceExitStatus"] == ["SIGHUP"]


def test_unit_keeps_the_first_key_out_of_the_journal() -> None:
    assert SERVICE["StandardOutput"] == ["null"]


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, of a service that is installed here."""
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text().replace("/opt/roster/bin", str(INSTALLED)))
    return file


@pytest.mark.verify
@pytest.mark.parametrize(
    "question", [["verify"], ["security", "--offline=true", f"--threshold={EXPOSED_AT_MOST}"]]
)
def test_systemd_has_nothing_against_the_unit(unit: Path, question: list[str]) -> None:
    analyze = program("systemd-analyze", "systemd")

    done = subprocess.run([analyze, *question, unit], capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
