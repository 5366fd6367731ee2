"""The secret key of an installation."""

from __future__ import annotations

import asyncio
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playhouse.migrations import Runner

from rosterd.server.security.encryption import Encryption, make_key, parse_key
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.secret_key import find_keys
from rosterd.server.storage import migrate
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.installation import SECRET_KEY, Installation, stored_keys
from rosterd.server.storage.postgres import connection
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.sqlite.file import connect, prepare

from ..processes import start
from .commands import FREE, error_line, roster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "roster.db"


@pytest.fixture
def file(path: Path) -> Path:
    return path.with_name("roster.db.key")


@pytest.fixture
def no_umask() -> Iterator[None]:
    """Sets a umask that makes new files readable by all users."""
    before = os.umask(0)
    yield
    os.umask(before)


def opened(path: Path, setting: str = "") -> Encryption:
    """Opens the encryption of a database as the service does."""

    async def run() -> Encryption:
        database = SqliteDatabase(path)
        await database.open()
        try:
            return Encryption(*await find_keys(setting, path, database))
        finally:
            await database.close()

    return asyncio.run(run())


def fingerprints(path: Path) -> list[str]:
    """Returns the fingerprints of the secret keys that open a database."""
    with unit_of_work(f"sqlite:///{path}") as tx:
        return [keys.fingerprint for keys in stored_keys(tx)]


def key_error(path: Path, setting: str = "") -> str:
    """Returns the error of a rejected key, and checks that the stored keys are unchanged."""
    before = fingerprints(path)
    with pytest.raises(StorageError) as caught:
        opened(path, setting)
    assert fingerprints(path) == before
    return str(caught.value)


def test_two_databases_in_a_folder_have_different_keys(tmp_path: Path) -> None:
    one, other = (opened(tmp_path / name) for name in ("a.db", "b.db"))

    assert one.fingerprint() != other.fingerprint()
    assert {"a.db.key", "b.db.key"} <= {found.name for found in tmp_path.iterdir()}


def test_existing_key_file_is_used_and_not_changed(path: Path, file: Path) -> None:
    first, text = opened(path), file.read_text()

    assert opened(path).fingerprint() == first.fingerprint()
    assert file.read_text() == text


def test_key_is_not_stored_in_the_database(path: Path, file: Path) -> None:
    opened(path)

    key = file.read_text().strip()
    raw = parse_key(key) or b""
    for found in path.parent.iterdir():
        content = b"" if found == file else found.read_bytes()
        assert not [form for form in (key.encode(), raw, raw.hex().encode()) if form in content]


def test_data_keys_of_a_new_database_do_not_follow_from_its_secret_key(tmp_path: Path) -> None:
    key = make_key()

    one, other = (opened(tmp_path / name, key) for name in ("a.db", "b.db"))

    secret = Encryption(parse_key(key) or b"")
    assert len({each.fingerprint() for each in (one, other, secret)}) == 3


def test_key_of_the_setting_is_used_and_not_written_to_a_file(path: Path, file: Path) -> None:
    key = make_key()

    fingerprint = opened(path, key).fingerprint()

    assert fingerprints(path) == [Encryption(parse_key(key) or b"").fingerprint()]
    assert not file.exists()
    assert opened(path, key).fingerprint() == fingerprint


def test_setting_takes_precedence_over_the_key_file(path: Path, file: Path) -> None:
    fingerprint, key = opened(path).fingerprint(), file.read_text()
    file.write_text(make_key())

    assert opened(path, key).fingerprint() == fingerprint


def test_key_can_be_moved_from_the_file_to_the_setting(path: Path, file: Path) -> None:
    fingerprint, key = opened(path).fingerprint(), file.read_text()
    file.unlink()

    assert opened(path, key).fingerprint() == fingerprint
    assert not file.exists()


def test_missing_key_is_an_error_and_no_new_key_is_created(path: Path, file: Path) -> None:
    opened(path)
    file.unlink()

    message = key_error(path)

    assert str(file) in message
    assert "ROSTER_SECRET_KEY" in message
    assert not file.exists()


@pytest.mark.parametrize("source", ["file", "setting"])
def test_different_key_is_rejected_and_not_printed(path: Path, file: Path, source: str) -> None:
    opened(path)
    key, other = file.read_text(), make_key()
    if source == "file":
        file.write_text(other)

    message = key_error(path, other if source == "setting" else "")

    assert (str(file) if source == "file" else "ROSTER_SECRET_KEY") in message
    assert "another secret key" in message
    assert key.strip() not in message
    assert other not in message


@pytest.mark.parametrize("is_new", [True, False], ids=["new database", "database with a key"])
@pytest.mark.parametrize("content", [b"", b"no key\n", b"\xff\xfe"], ids=["empty", "text", "bytes"])
def test_file_without_a_key_is_rejected_and_not_changed(
    path: Path, file: Path, content: bytes, is_new: bool
) -> None:
    if not is_new:
        opened(path)
    file.write_bytes(content)

    assert str(file) in key_error(path)
    assert file.read_bytes() == content


# The command line


def test_service_creates_the_key_file_and_does_not_print_the_key(path: Path, file: Path) -> None:
    service = start(path.parent)
    try:
        key = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        service.stop()

    assert key not in "".join(service.printed)
    assert key not in service.log.read_text()


def test_database_without_its_key_is_not_served(path: Path, file: Path) -> None:
    opened(path)
    file.unlink()

    done = roster("serve", ROSTER_DATABASE_URL=f"sqlite:///{path}", **FREE)

    line = error_line(done, ExitCode.DATABASE)
    assert str(file) in line
    assert "ROSTER_SECRET_KEY" in line


@pytest.fixture
def outdated(request: pytest.FixtureRequest, path: Path) -> tuple[str, str]:
    """The URL of a database that an earlier version served, and its secret key."""
    key = make_key()
    if request.param == "sqlite":
        url, database = f"sqlite:///{path}", connect(path)
        prepare(database)
    else:
        url = request.getfixturevalue("postgres").new_database()
        database = connection.connect(url)
    with closing(database):
        Runner(database, str(migrate.DIRECTORY)).up("0015_index_of_domains")
        row = {"name": SECRET_KEY, "value": Encryption(parse_key(key)).fingerprint()}
        with database.atomic():
            Installation.insert(row).execute(database)
    return url, key


@pytest.mark.parametrize(
    ("outdated", "command"),
    [
        ("sqlite", "serve"),
        ("sqlite", "migrate"),
        ("sqlite", "accounts create --email ada@example.com"),
        pytest.param("postgres", "serve", marks=pytest.mark.verify),
        pytest.param("postgres", "worker", marks=pytest.mark.verify),
        ("postgres", "migrate"),
        ("postgres", "keys create --scope read"),
    ],
    indirect=["outdated"],
)
def test_no_command_migrates_a_database_whose_key_it_does_not_have(
    outdated: tuple[str, str], command: str
) -> None:
    url, key = outdated
    takes_key = command in {"serve", "worker", "migrate"}
    messages = {"": "The secret key of .* is missing", make_key(): "requires another secret key"}

    for wrong, message in messages.items():
        settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": wrong, **FREE}
        done = roster(*command.split(), **settings, ROSTER_LOG_LEVEL="error")
        line = error_line(done, ExitCode.DATABASE)
        assert re.search(message if takes_key else "Run `roster migrate`", line)

    done = roster("migrate", "--json", ROSTER_DATABASE_URL=url, ROSTER_SECRET_KEY=key)
    assert json.loads(done.stdout)["applied"][0].startswith("0016_")


def test_malformed_key_is_rejected_and_not_printed(path: Path, file: Path) -> None:
    settings = {"ROSTER_DATABASE_URL": f"sqlite:///{path}", **FREE}

    done = roster("serve", **{**settings, "ROSTER_SECRET_KEY": "mistyped"})

    line = error_line(done, ExitCode.USAGE)
    assert "ROSTER_SECRET_KEY" in line
    assert "mistyped" not in line
    (generated,) = re.findall(r"[A-Za-z0-9+/]{43}=", line)
    assert parse_key(generated) is not None
    assert not file.exists()
