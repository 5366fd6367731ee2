"""Tests of databases that a command cannot use, or must not change."""

from __future__ import annotations

import base64
import re
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres.connection import open_database

from ..postgres import Postgres
from ..processes import start
from .commands import FREE, error_line, in_new_process, roster

# Root can write to every file. This drops that capability and runs the command line.
WITHOUT_CAPABILITY = """
import ctypes, sys
from rosterd.server.cli import main
if sys.platform == "linux":
    library = ctypes.CDLL(None)
    version, sets = (ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)()
    library.capget(version, sets)
    sets[0] &= ~2
    library.capset(version, sets)
main()
"""


# Runs the command line without the optional packages.
WITHOUT_PACKAGES = """
import sys
from rosterd.server.cli import main
sys.modules.update(dict.fromkeys(("opentelemetry", "psycopg"), None))
main()
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("accounts", "create", "--email", "nope"), ExitCode.USAGE),
        (("accounts", "verify", "nope"), ExitCode.NOT_FOUND),
        (("accounts", "rename", "nope", "x"), ExitCode.NOT_FOUND),
        (("accounts", "delete", "nope", "--yes"), ExitCode.NOT_FOUND),
        (("check", "--account", "nope"), ExitCode.NOT_FOUND),
        (("keys", "create", "--account", "nope", "--scope", "read"), ExitCode.NOT_FOUND),
        (("keys", "list", "--account", "nope"), ExitCode.NOT_FOUND),
        (("keys", "rotate", "nope"), ExitCode.NOT_FOUND),
        (("keys", "revoke", "nope"), ExitCode.NOT_FOUND),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_error_names_the_missing_resource(
    url: str, account_id: str, arguments: tuple[str, ...], code: ExitCode
) -> None:
    line = error_line(roster(*arguments, ROSTER_DATABASE_URL=url), code)

    assert account_id not in line
    assert "nope" in line


EXISTING = [
    ("accounts", "list"),
    ("accounts", "verify", "0" * 26),
    ("accounts", "rename", "0" * 26, "x"),
    ("accounts", "delete", "0" * 26),
    ("check",),
    ("keys", "list", "--account", "0" * 26),
    ("keys", "create", "--account", "0" * 26, "--scope", "read"),
    ("keys", "rotate", "0" * 26),
    ("keys", "revoke", "0" * 26),
]


@pytest.mark.parametrize("arguments", EXISTING, ids=" ".join)
def test_command_for_an_existing_database_does_not_create_a_database(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    path = tmp_path / "data" / "roster.db"

    done = roster(*arguments, ROSTER_DATABASE_URL=f"sqlite:///{path}")

    assert f"There is no database {path}." in error_line(done, ExitCode.DATABASE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", EXISTING[:2], ids=" ".join)
def test_command_for_an_existing_database_does_not_create_tables_on_postgres(
    postgres: Postgres, arguments: tuple[str, ...]
) -> None:
    url = postgres.new_database()

    done = roster(*arguments, ROSTER_DATABASE_URL=url)

    assert "has no Roster database" in error_line(done, ExitCode.DATABASE)
    with open_database(url) as database:
        assert database.get_tables() == []


def test_commands_that_read_do_not_migrate(tmp_path: Path, url: str, account_id: str) -> None:
    with closing(apsw.Connection(str(tmp_path / "roster.db"))) as connection:
        connection.execute("DELETE FROM schema_migration WHERE name LIKE '0003%'")
    before = (tmp_path / "roster.db").read_bytes()

    done = roster("keys", "list", "--account", account_id, ROSTER_DATABASE_URL=url)

    assert "roster migrate" in error_line(done, ExitCode.DATABASE)
    assert (tmp_path / "roster.db").read_bytes() == before


@pytest.mark.parametrize("arguments", [("serve",), ("accounts", "list")], ids=" ".join)
def test_path_below_a_file_is_rejected(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()

    done = roster(*arguments, ROSTER_DATABASE_URL=f"sqlite:///{tmp_path}/file/roster.db", **FREE)

    assert "file" in error_line(done, ExitCode.DATABASE)


CREATE = ("accounts", "create", "--email", "ada@example.com")


@pytest.mark.parametrize(
    ("arguments", "unwritable"),
    [(("serve",), "file"), (("serve",), "folder"), (CREATE, "file")],
    ids=["serve file", "serve folder", "accounts create"],
)
def test_read_only_database_is_rejected_with_a_hint(
    tmp_path: Path, url: str, arguments: tuple[str, ...], unwritable: str
) -> None:
    with unit_of_work(url):
        pass
    path, mode = (tmp_path / "roster.db", 0o444) if unwritable == "file" else (tmp_path, 0o555)
    path.chmod(mode)
    try:
        done = in_new_process(*arguments, code=WITHOUT_CAPABILITY, ROSTER_DATABASE_URL=url, **FREE)
    finally:
        path.chmod(0o755)

    assert re.search("read-only|cannot be written", error_line(done, ExitCode.DATABASE))


def test_service_on_sqlite_needs_no_optional_packages(tmp_path: Path) -> None:
    assert start(tmp_path, under=("env",), code=WITHOUT_PACKAGES).stop() == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "--database-url", "postgresql://127.0.0.1:1/roster"),
        ("accounts", "list", "--database-url", "postgresql://127.0.0.1:1/roster"),
        ("copy", "--from", "sqlite:///roster.db", "--to", "postgresql://127.0.0.1:1/roster"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_on_postgresql_print_the_package_that_they_need(
    arguments: tuple[str, ...],
) -> None:
    key = base64.b64encode(bytes(32)).decode()

    done = in_new_process(
        *arguments, under=("env",), code=WITHOUT_PACKAGES, **FREE, ROSTER_SECRET_KEY=key
    )

    assert f"{sys.executable} -m pip install --editable '.[postgres]'" in error_line(
        done, ExitCode.DATABASE
    )
