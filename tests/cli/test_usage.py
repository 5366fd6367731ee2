"""Tests of what all commands share: help, usage errors, and errors in JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from rosterd.server import cli
from rosterd.server.cli.common.flags import FLAGS
from rosterd.server.rpc.errors import Unavailable
from rosterd.server.serving.console import ExitCode

from ..processes import environment
from .commands import error_line, in_this_process, roster


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yields the names of every command."""
    yield path
    for name, command in dict(getattr(group, "commands", {})).items():
        yield from commands(command, *path, name)


def command_at(path: tuple[str, ...]) -> Any:
    command: Any = cli.app
    for name in path:
        command = command.commands[name]
    return command


def options_of(path: tuple[str, ...]) -> set[str]:
    """Returns the options and the names of the arguments of a command."""
    return {
        option
        for parameter in command_at(path).params
        for option in (*parameter.opts, parameter.metavar)
    }


COMMANDS = [*commands(cli.app)]


def test_version_is_printed() -> None:
    assert roster("--version").stdout == f"roster {version('roster')}\n"


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_short_help_flag_prints_the_help_of_every_command(path: tuple[str, ...]) -> None:
    done = in_this_process([*path, "-h"], environment())

    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: roster {' '.join(path)}".rstrip() in done.stdout


def test_help_lists_commands_with_the_whole_first_paragraph() -> None:
    lines = " ".join(roster("-h").stdout.split())

    assert "Export the subscribers of an account to a CSV or NDJSON file, oldest first." in lines


def test_commands_are_completed() -> None:
    line = {"COMP_WORDS": "roster acc", "COMP_CWORD": "1"}

    done = in_this_process([], environment(_ROSTER_COMPLETE="bash_complete", **line))

    assert "accounts" in done.stdout
    assert "keys" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("keys revok", "No such command 'revok'. Did you mean 'revoke'? See roster keys -h."),
        ("settings --josn", "No such option '--josn'. Did you mean '--json'? See roster"),
        ("keys create", "Missing option '--scope'. Choose from: read, write, admin, signup. See"),
        ("export --tag", "Option '--tag' requires an argument."),
        (
            "audit list --limit 9223372036854775808",
            "Invalid value for '--limit': 9223372036854775808 is",
        ),
        ("export --format x", "Invalid value for '--format': 'x' is not one of 'csv', 'ndjson'."),
        ("export", "An API key is required. Set ROSTER_API_KEY or use --api-key. To create a key,"),
    ],
)
def test_usage_error_is_one_line(arguments: str, message: str) -> None:
    done = roster(*arguments.split())

    assert error_line(done, ExitCode.USAGE).startswith(f"roster: {message}")


def test_argument_that_is_not_utf_8_is_a_usage_error(url: str, account_id: str) -> None:
    arguments = ("check", "--account", f"{account_id}\udcff")

    done = roster(*arguments, ROSTER_DATABASE_URL=url)

    assert "is not valid UTF-8" in error_line(done, ExitCode.USAGE)


@pytest.mark.parametrize(
    "path", [path for path in COMMANDS if "--json" in options_of(path)], ids=" ".join
)
def test_error_of_a_command_with_json_is_an_error_object(path: tuple[str, ...]) -> None:
    done = roster(*path, "--json", "--unknown")

    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    error = json.loads(done.stderr)["error"]
    assert error == {"code": "Usage", "details": [], "message": error["message"]}
    assert error["message"].startswith("No such option '--unknown'")


def test_flags_in_errors_of_the_service_exist() -> None:
    options = set().union(*map(options_of, COMMANDS))

    assert {flag for flag in FLAGS.values() if flag not in options} == {"EMAIL"}


def test_rejected_first_write_of_a_service_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reject(**_: object) -> None:
        raise Unavailable

    monkeypatch.setattr(cli, "app", reject)

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == ExitCode.DATABASE
    assert capsys.readouterr().err == (
        "roster: A write to the database failed. The server log states the cause.\n"
    )
