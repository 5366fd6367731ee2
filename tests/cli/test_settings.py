"""Tests of `roster settings`, and of settings in the environment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rosterd.server.config import SETTINGS
from rosterd.server.serving.console import ExitCode

from ..postgres import Postgres
from ..processes import start
from .commands import error_line, json_output, roster


def test_settings_lists_every_setting(url: str) -> None:
    listed = json_output(url, "settings")

    assert listed["total"] == len(SETTINGS)
    for row, setting in zip(SETTINGS.values(), listed["settings"], strict=True):
        assert {name: getattr(row, name) for name in setting} == setting


def test_every_setting_is_a_flag_of_a_serving_command() -> None:
    commands = ("serve", "serve-http", "worker")
    text = "".join(roster(command, "--help").stdout for command in commands)

    assert [row.flag for row in SETTINGS.values() if row.flag not in text] == []


def test_flag_takes_precedence_over_the_environment(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/other.db"

    roster("migrate", "--database-url", url, ROSTER_DATABASE_URL=other)

    assert (tmp_path / "roster.db").exists()
    assert not (tmp_path / "other.db").exists()


def test_invalid_setting_is_named_as_it_was_set(url: str) -> None:
    by_flag = roster("serve", "--http-address", "x", ROSTER_DATABASE_URL=url)
    by_variable = roster("serve", ROSTER_HTTP_ADDRESS="x", ROSTER_DATABASE_URL=url)

    assert error_line(by_flag, ExitCode.USAGE).startswith("roster: --http-address must be ")
    assert error_line(by_variable, ExitCode.USAGE).startswith(
        "roster: ROSTER_HTTP_ADDRESS must be "
    )


def test_unknown_variable_is_reported_with_the_most_similar_setting() -> None:
    done = roster("settings", "--json", ROSTER_HTTP_PORT="1")

    assert done.returncode == 0
    assert done.stderr == (
        "roster: ROSTER_HTTP_PORT is not a setting and is ignored."
        " Did you mean ROSTER_HTTP_ADDRESS?\n"
    )


@pytest.mark.verify
def test_unknown_variable_is_logged_once_by_a_service_of_several_processes(
    tmp_path: Path, postgres: Postgres
) -> None:
    service = start(
        tmp_path,
        ROSTER_DATABASE_URL=postgres.new_roster(),
        ROSTER_SECRET_KEY=postgres.secret_key,
        ROSTER_PROCESSES="2",
        ROSTER_HTTP_ADRESS="x",
    )
    assert service.stop() == 0

    logged = [json.loads(line) for line in service.log.read_text().splitlines()]
    (warning,) = [line for line in logged if "ROSTER_HTTP_ADRESS" in line["message"]]
    assert warning["level"] == "warning"
    assert "ROSTER_HTTP_ADDRESS" in warning["message"]


def test_secret_is_read_from_a_file(url: str, tmp_path: Path, account_id: str) -> None:
    file = tmp_path / "url"
    file.write_text(f"{url}\n")

    done = roster("accounts", "list", ROSTER_DATABASE_URL_FILE=str(file))
    both = roster("accounts", "list", ROSTER_DATABASE_URL_FILE=str(file), ROSTER_DATABASE_URL=url)

    assert account_id in done.stdout
    line = error_line(both, ExitCode.USAGE)
    assert "ROSTER_DATABASE_URL and ROSTER_DATABASE_URL_FILE are both set" in line


@pytest.mark.parametrize(
    ("words", "variable", "current"),
    [
        ("server", "", "serve-grpc"),
        ("gateway -h", "", "serve-http"),
        ("serve --workers 2", "", "--processes"),
        ("serve", "ROSTER_WORKERS", "ROSTER_PROCESSES"),
        ("settings", "ROSTER_WORKERS", "ROSTER_PROCESSES"),
    ],
)
def test_earlier_name_is_rejected_with_the_current_one(
    words: str, variable: str, current: str
) -> None:
    done = roster(*words.split(), **({variable: "2"} if variable else {}))

    assert f"has been renamed to {current}." in error_line(done, ExitCode.USAGE)
