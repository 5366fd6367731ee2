"""Tests of the command line: output, exit codes, and the start of services."""

from __future__ import annotations

import base64
import json
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

import apsw
import pytest
from typer.main import get_command

from rosterd.server import cli
from rosterd.server.cli import keys
from rosterd.server.cli.common.flags import FLAGS
from rosterd.server.config import SETTINGS
from rosterd.server.features.accounts import store
from rosterd.server.features.accounts.rules import hash_secret, is_well_formed, make_secret
from rosterd.server.rpc.errors import Unavailable
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.ready import Ready, announce
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres.connection import open_database

from ..components import free_port
from ..fronts import HttpFront
from ..postgres import Postgres
from ..processes import Service, environment, start
from .commands import FREE, error_line, in_new_process, in_this_process, json_output, roster

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
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


@pytest.fixture
def url(tmp_path: Path) -> str:
    """The URL of a database that does not exist."""
    return f"sqlite:///{tmp_path}/roster.db"


@pytest.fixture
def account(url: str) -> str:
    """The ID of an unverified account."""
    with unit_of_work(url) as tx:
        return store.create_account("ada@bücher.de", tx, verified=False).id


@pytest.fixture
def used_address() -> Iterator[str]:
    """An address in use by another program."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def is_accepted(service: Service, key: str) -> bool:
    """Returns whether a running service accepts the key."""
    response = HttpFront("http", service.http).send("GET", "/api/tags", key)
    assert response.status in {200, 401}
    return response.status == 200


# Accounts and keys


@pytest.mark.parametrize(
    ("flags", "verified"), [([], True), (["--unverified"], False)], ids=["verified", "unverified"]
)
def test_accounts_create_prints_account_and_key(url: str, flags: list[str], verified: bool) -> None:
    created = json_output(url, "accounts", "create", "--email", " Ada@Example.com ", *flags)

    assert set(created) == {"account", "apiKey"}
    account = created["account"]
    assert set(account) == {"id", "email", "emailVerified", "displayName", "createdAt"}
    assert (account["email"], account["emailVerified"]) == ("Ada@Example.com", verified)
    assert account["displayName"] == ""
    assert len(account["id"]) == 26
    assert TIMESTAMP.fullmatch(account["createdAt"])
    assert is_well_formed(created["apiKey"])


@pytest.mark.parametrize("again", ["ada@bücher.de", " ADA@XN--BCHER-KVA.de "])
def test_accounts_create_rejects_the_address_of_another_account(
    url: str, account: str, again: str
) -> None:
    done = roster("accounts", "create", "--email", again, ROSTER_DATABASE_URL=url)

    line = error_line(done, ExitCode.ALREADY_EXISTS)
    assert again.strip() in line
    assert f"roster keys create --account {account} --scope admin" in line
    assert [item["id"] for item in json_output(url, "accounts", "list")["accounts"]] == [account]
    assert json_output(url, "keys", "list", "--account", account) == {"apiKeys": []}


def test_command_line_can_revoke_the_last_admin_key(url: str) -> None:
    created = json_output(url, "accounts", "create", "--email", "ada@example.com")
    account = created["account"]["id"]
    (key,) = json_output(url, "keys", "list", "--account", account)["apiKeys"]

    assert json_output(url, "keys", "revoke", key["id"]) == {"revoked": key["id"]}


def test_accounts_verify_shows_in_the_list(url: str, account: str) -> None:
    verified = json_output(url, "accounts", "verify", account)

    assert set(verified) == {"account"}
    assert (verified["account"]["id"], verified["account"]["emailVerified"]) == (account, True)
    assert json_output(url, "accounts", "list") == {"accounts": [verified["account"]]}


def test_accounts_have_a_display_name(url: str) -> None:
    name = ("--display-name", " Analytical Letters ")
    created = json_output(url, "accounts", "create", "--email", "ada@example.com", *name)["account"]

    assert created["displayName"] == "Analytical Letters"
    for given, stored in ((" New ", "New"), ("", "")):
        updated = json_output(url, "accounts", "update", created["id"], "--display-name", given)
        assert updated == {"account": {**created, "displayName": stored}}
        assert json_output(url, "accounts", "list") == {"accounts": [updated["account"]]}


@pytest.mark.parametrize("name", ["x" * 101, "a\x1bb", "a\nb"], ids=ascii)
def test_display_name_that_the_api_rejects_is_not_stored(url: str, account: str, name: str) -> None:
    create = ("create", "--email", "bob@example.com")

    for command in (create, ("update", account)):
        done = roster("accounts", *command, "--display-name", name, ROSTER_DATABASE_URL=url)
        assert "at most 100 characters" in error_line(done, ExitCode.USAGE)

    (listed,) = json_output(url, "accounts", "list")["accounts"]
    assert (listed["id"], listed["displayName"]) == (account, "")


def test_keys_are_created_listed_rotated_and_revoked(url: str, account: str) -> None:
    created = json_output(
        url, "keys", "create", "--account", account, "--scope", "read", "--name", "ci"
    )

    assert set(created) == {"apiKey", "secret"}
    key = created["apiKey"]
    assert set(key) == {"id", "name", "scope", "createdAt"}
    assert (key["name"], key["scope"]) == ("ci", "read")
    assert is_well_formed(created["secret"])
    assert json_output(url, "keys", "list", "--account", account) == {"apiKeys": [key]}
    rotated = json_output(url, "keys", "rotate", key["id"])
    assert rotated["apiKey"] == key
    assert is_well_formed(rotated["secret"])
    json_output(url, "keys", "revoke", key["id"])
    for command in ("rotate", "revoke"):
        again = roster("keys", command, key["id"], ROSTER_DATABASE_URL=url)
        assert key["id"] in error_line(again, ExitCode.NOT_FOUND)


def test_expired_key_is_not_rotated(url: str, account: str) -> None:
    with unit_of_work(url) as tx:
        key = store.create_key(account, "ci", "read", hash_secret("rk_"), tx, expires_at=tx.now - 1)

    done = roster("keys", "rotate", key.id, ROSTER_DATABASE_URL=url)

    assert "has expired" in error_line(done, ExitCode.USAGE)


def test_commands_for_keys_use_the_only_account(url: str, account: str) -> None:
    created = json_output(url, "keys", "create", "--scope", "read")

    assert json_output(url, "keys", "list") == {"apiKeys": [created["apiKey"]]}
    assert json_output(url, "keys", "list", "--account", account)["apiKeys"]

    with unit_of_work(url) as tx:
        store.create_account("bob@example.com", tx, verified=True)
    for command in (("create", "--scope", "read"), ("list",)):
        done = roster("keys", *command, ROSTER_DATABASE_URL=url)
        assert "2 accounts" in error_line(done, ExitCode.USAGE)
        assert "roster accounts list" in done.stderr


def test_commands_for_keys_name_the_command_that_creates_the_first_account(url: str) -> None:
    migrated(url)

    done = roster("keys", "create", "--scope", "read", ROSTER_DATABASE_URL=url)

    assert "roster accounts create" in error_line(done, ExitCode.NOT_FOUND)


def test_keys_of_several_pages_are_listed(
    url: str, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MAX_LIMIT", 2)
    create = ("keys", "create", "--account", account, "--scope", "read", "--name", "ci")
    created = [json_output(url, *create)["apiKey"] for _ in range(5)]

    assert json_output(url, "keys", "list", "--account", account)["apiKeys"] == created


@pytest.mark.parametrize("name", ["\u200b", "x" * 101, "a\nb"], ids=ascii)
def test_key_with_a_name_that_the_api_rejects_is_not_created(
    url: str, account: str, name: str
) -> None:
    flags = ("--account", account, "--scope", "read", "--name", name)

    done = roster("keys", "create", *flags, ROSTER_DATABASE_URL=url)

    assert "1 to 100 characters" in error_line(done, ExitCode.USAGE)


def test_account_and_keys_take_effect_in_a_running_service(service: Service) -> None:
    url = service.database_url

    created = json_output(url, "accounts", "create", "--email", "ada@example.com")
    account = created["account"]["id"]
    revoked = json_output(url, "keys", "create", "--account", account, "--scope", "write")
    json_output(url, "keys", "revoke", revoked["apiKey"]["id"])

    (key,) = json_output(url, "keys", "list", "--account", account)["apiKeys"]
    rotated = json_output(url, "keys", "rotate", key["id"])

    assert is_accepted(service, rotated["secret"])
    assert not is_accepted(service, created["apiKey"])
    assert not is_accepted(service, revoked["secret"])


def test_keys_are_printed_once_and_not_stored(url: str, tmp_path: Path) -> None:
    done = roster("accounts", "create", "--email", "ada@example.com", "--database-url", url)
    secret = re.search(r"rk_\w{46}", done.stdout)

    assert secret is not None
    contents = [file.read_bytes() for file in tmp_path.iterdir()]
    assert contents
    assert not [content for content in contents if secret[0].encode() in content]


def test_flag_takes_precedence_over_the_environment(url: str, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path}/other.db"

    roster("migrate", "--database-url", url, ROSTER_DATABASE_URL=other)

    assert (tmp_path / "roster.db").exists()
    assert not (tmp_path / "other.db").exists()


def test_migrate_prints_the_applied_migrations(url: str) -> None:
    assert json_output(url, "migrate")["applied"][0].startswith("0001_")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("accounts", "create", "--email", "nope"), ExitCode.USAGE),
        (("accounts", "verify", "nope"), ExitCode.NOT_FOUND),
        (("accounts", "update", "nope", "--display-name", "x"), ExitCode.NOT_FOUND),
        (("keys", "create", "--account", "nope", "--scope", "read"), ExitCode.NOT_FOUND),
        (("keys", "list", "--account", "nope"), ExitCode.NOT_FOUND),
        (("keys", "rotate", "nope"), ExitCode.NOT_FOUND),
        (("keys", "revoke", "nope"), ExitCode.NOT_FOUND),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_error_names_the_missing_resource(
    url: str, account: str, arguments: tuple[str, ...], code: ExitCode
) -> None:
    line = error_line(roster(*arguments, ROSTER_DATABASE_URL=url), code)

    assert account not in line
    assert "nope" in line


EXISTING = [
    ("accounts", "list"),
    ("accounts", "verify", "0" * 26),
    ("accounts", "update", "0" * 26, "--display-name", "x"),
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


def test_commands_that_read_do_not_migrate(tmp_path: Path, url: str, account: str) -> None:
    with closing(apsw.Connection(str(tmp_path / "roster.db"))) as connection:
        connection.execute("DELETE FROM schema_migration WHERE name LIKE '0003%'")
    before = (tmp_path / "roster.db").read_bytes()

    done = roster("keys", "list", "--account", account, ROSTER_DATABASE_URL=url)

    assert "roster migrate" in error_line(done, ExitCode.DATABASE)
    assert (tmp_path / "roster.db").read_bytes() == before


# Settings


def test_settings_lists_every_setting(url: str) -> None:
    listed = json_output(url, "settings")

    assert listed == [
        {
            "environment": row.environment,
            "flag": row.flag,
            "default": row.default,
            "help": row.help,
        }
        for row in SETTINGS.values()
    ]


def test_every_setting_is_a_flag_of_a_serving_command() -> None:
    text = "".join(roster(command, "--help").stdout for command in ("serve", "gateway", "worker"))

    assert [row.flag for row in SETTINGS.values() if row.flag not in text] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ROSTER_DATABASE_URL", "mysql://host/roster"),
        ("ROSTER_BOOTSTRAP_API_KEY", "rk_secret"),
        ("ROSTER_SECRET_KEY", "c2hvcnQ="),
        ("ROSTER_WORKERS", "many"),
    ],
)
def test_malformed_setting_is_rejected_and_named(url: str, name: str, value: str) -> None:
    done = roster("serve", **{"ROSTER_DATABASE_URL": url, **FREE, name: value})

    assert name in error_line(done, ExitCode.USAGE)


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
        ROSTER_WORKERS="2",
        ROSTER_HTTP_ADRESS="x",
    )
    assert service.stop() == 0

    logged = [json.loads(line) for line in service.log.read_text().splitlines()]
    (warning,) = [line for line in logged if "ROSTER_HTTP_ADRESS" in line["message"]]
    assert warning["level"] == "warning"
    assert "ROSTER_HTTP_ADDRESS" in warning["message"]


# Usage


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("keys revok", "No such command 'revok'. Did you mean 'revoke'? See roster keys -h."),
        ("settings --josn", "No such option: --josn (Possible options: --json). See roster"),
        ("keys create", "Missing option '--scope'. Choose from: read, write, admin, signup. See"),
        ("export --tag", "Option '--tag' requires an argument."),
        ("export --format x", "Invalid value for '--format': 'x' is not one of 'csv', 'ndjson'."),
        ("export", "An API key is required. Set ROSTER_API_KEY or use --api-key. To create a key,"),
    ],
)
def test_usage_error_is_one_line(arguments: str, message: str) -> None:
    done = roster(*arguments.split())

    assert error_line(done, ExitCode.USAGE).startswith(f"roster: {message}")


def test_flags_in_errors_of_the_service_exist() -> None:
    options = {
        option
        for path in commands(get_command(cli.app))
        for parameter in command_at(path).params
        for option in (*parameter.opts, parameter.metavar)
    }

    assert {flag for flag in FLAGS.values() if flag not in options} == {"EMAIL"}


def command_at(path: tuple[str, ...]) -> Any:
    command: Any = get_command(cli.app)
    for name in path:
        command = command.commands[name]
    return command


# Help


def test_version_is_printed() -> None:
    assert roster("--version").stdout == f"roster {version('roster')}\n"


def commands(group: Any, *path: str) -> Iterator[tuple[str, ...]]:
    """Yields the names of every command."""
    yield path
    for name, command in dict(getattr(group, "commands", {})).items():
        yield from commands(command, *path, name)


@pytest.mark.parametrize("path", [*commands(get_command(cli.app))], ids=" ".join)
def test_short_help_flag_prints_the_help_of_every_command(path: tuple[str, ...]) -> None:
    done = in_this_process([*path, "-h"], environment())

    assert (done.returncode, done.stderr) == (0, "")
    assert f"Usage: roster {' '.join(path)}".rstrip() in done.stdout


def test_commands_are_completed() -> None:
    line = {"COMP_WORDS": "roster acc", "COMP_CWORD": "1"}

    done = in_this_process([], environment(_ROSTER_COMPLETE="complete_bash", **line))

    assert "accounts" in done.stdout
    assert "keys" not in done.stdout


# Start and stop of the service


def test_first_start_prints_address_key_and_a_curl_line_that_works(tmp_path: Path) -> None:
    service = start(tmp_path)
    try:
        text = "".join(service.printed)
        assert f"http://{service.http}" in text
        assert service.grpc in text
        assert is_well_formed(service.first_key)

        exported = dict(re.findall(r"export (\w+)=(\S+)", text))
        assert exported == {
            "ROSTER_URL": f"http://{service.http}",
            "ROSTER_API_KEY": service.first_key,
        }
        command = text[text.index("curl ") :].replace("\\\n", " ").splitlines()[0]
        words = [Template(word).safe_substitute(exported) for word in shlex.split(command)]
        headers = [words[at + 1] for at, word in enumerate(words) if word == "-H"]
        response = HttpFront("http", service.http).send(
            "POST",
            words[1].removeprefix(f"http://{service.http}"),
            body=words[words.index("-d") + 1].encode(),
            headers=dict(header.split(": ", 1) for header in headers),
        )
        assert response.status == 201
    finally:
        service.stop()


@pytest.mark.parametrize(
    ("database", "flag"),
    [
        ("data/roster.db", ""),
        ("/srv/x.db", " --database-url sqlite:////srv/x.db"),
        ("postgresql://host/x", ""),
    ],
)
@pytest.mark.parametrize("key", ["", "rk_first"])
def test_start_prints_how_to_stop_it_and_to_replace_a_lost_key(
    capsys: pytest.CaptureFixture[str], key: str, database: str, flag: str
) -> None:
    announce(Ready(http="http://127.0.0.1:1", database=database, first_key=key))

    printed = capsys.readouterr().out
    assert "Ctrl-C" in printed
    assert f"  export ROSTER_API_KEY={key or 'rk_…'}\n" in printed
    assert f"  roster keys create --scope admin{flag}\n  roster accounts list{flag}\n" in printed


def test_second_start_creates_no_key(tmp_path: Path) -> None:
    first, key = start(tmp_path), make_secret()
    first.stop()
    second = start(tmp_path, ROSTER_BOOTSTRAP_API_KEY=key)
    try:
        assert second.first_key == ""
        assert is_accepted(second, first.first_key)
        assert not is_accepted(second, key)
    finally:
        second.stop()


@pytest.mark.parametrize("name", ["ROSTER_HTTP_ADDRESS", "ROSTER_GRPC_ADDRESS"])
def test_address_in_use_is_reported_before_the_database_is_created(
    tmp_path: Path, url: str, used_address: str, name: str
) -> None:
    done = roster("serve", **{"ROSTER_DATABASE_URL": url, **FREE, name: used_address})

    line = error_line(done, ExitCode.PORT_IN_USE)
    assert used_address in line
    assert name in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("serve", ["HTTP", "GRPC", "METRICS"]),
        ("server", ["GRPC", "METRICS"]),
        ("gateway", ["HTTP", "METRICS"]),
    ],
)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_address_in_use_is_named_in_one_message(
    command: str, names: list[str], workers: str
) -> None:
    with ExitStack() as stack:
        settings = {}
        for name in names:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            settings[f"ROSTER_{name}_ADDRESS"] = f"127.0.0.1:{listening.getsockname()[1]}"
        nowhere = {"ROSTER_DATABASE_URL": "postgresql://127.0.0.1:1/x", "ROSTER_WORKERS": workers}

        done = roster(command, **nowhere, **settings)

    line = error_line(done, ExitCode.PORT_IN_USE)
    assert line.count("address already in use") == len(names)
    for name, address in settings.items():
        assert f"{address} (" in line
        assert name in line


def test_two_settings_with_the_same_address_are_rejected() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = {"ROSTER_HTTP_ADDRESS": address, "ROSTER_GRPC_ADDRESS": address}
    settings |= {"ROSTER_DATABASE_URL": "postgresql://127.0.0.1:1/x"}

    line = error_line(roster("serve", **settings), ExitCode.PORT_IN_USE)

    assert "ROSTER_HTTP_ADDRESS is the same address" in line
    assert "ROSTER_GRPC_ADDRESS" in line


def test_invalid_setting_is_named_as_it_was_set(url: str) -> None:
    by_flag = roster("serve", "--http-address", "x", ROSTER_DATABASE_URL=url)
    by_variable = roster("serve", ROSTER_HTTP_ADDRESS="x", ROSTER_DATABASE_URL=url)

    assert error_line(by_flag, ExitCode.USAGE).startswith("roster: --http-address must be ")
    assert error_line(by_variable, ExitCode.USAGE).startswith(
        "roster: ROSTER_HTTP_ADDRESS must be "
    )


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


def test_bootstrap_key_is_the_first_key_of_a_verified_account(tmp_path: Path) -> None:
    key = make_secret()
    service = start(tmp_path, ROSTER_BOOTSTRAP_API_KEY=key)
    try:
        front = HttpFront("http", service.http)
        assert front.call("CreateCustomField", key, {"label": "City"}).status == 201
        assert front.call("ListApiKeys", key, {}).body["total"] == 1
    finally:
        service.stop()


# Runs the command line, and sends SIGINT while it imports its modules.
INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "rosterd.server.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from rosterd.server.__main__ import main
main()
"""


def test_interrupt_while_modules_are_imported_leaves_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "settings"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


# Databases that cannot be served


def test_served_file_is_rejected_with_the_process_id(service: Service) -> None:
    done = roster("serve", ROSTER_DATABASE_URL=service.database_url, **FREE)

    assert f"process {service.process.pid}" in error_line(done, ExitCode.DATABASE)


def serve(url: str) -> str:
    """Returns the error of a service that fails to start."""
    return error_line(roster("serve", ROSTER_DATABASE_URL=url, **FREE), ExitCode.DATABASE)


def migrated(url: str) -> None:
    with unit_of_work(url):
        pass


def test_newer_schema_is_rejected_by_every_command(tmp_path: Path, url: str) -> None:
    migrated(url)
    with closing(apsw.Connection(str(tmp_path / "roster.db"))) as connection:
        connection.execute("UPDATE schema_version SET minimum_version = 9999")

    for command in (("serve",), ("accounts", "list"), ("migrate",)):
        done = roster(*command, ROSTER_DATABASE_URL=url, **FREE)
        assert "schema version 9999 or later" in error_line(done, ExitCode.OUTDATED)


def test_file_that_is_not_a_database_is_rejected_with_a_hint(tmp_path: Path, url: str) -> None:
    (tmp_path / "roster.db").write_bytes(b"no database" * 1_000)

    assert "backup" in serve(url)


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
    migrated(url)
    path, mode = (tmp_path / "roster.db", 0o444) if unwritable == "file" else (tmp_path, 0o555)
    path.chmod(mode)
    try:
        done = in_new_process(*arguments, code=WITHOUT_CAPABILITY, ROSTER_DATABASE_URL=url, **FREE)
    finally:
        path.chmod(0o755)

    assert re.search("read-only|cannot be written", error_line(done, ExitCode.DATABASE))


# Optional packages


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
