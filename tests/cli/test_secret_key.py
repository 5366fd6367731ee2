"""The secret key of an installation: where it is kept, and that no other is taken for it."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.console import ExitCode
from server.encryption import Encryption, make_key, parse_key
from server.serving.secret_key import open_encryption
from server.storage.database import StorageError
from server.storage.installation import key_fingerprint
from server.storage.sqlite.database import SqliteDatabase

from ..processes import start
from .test_commands import FREE, complaint, roster


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
    return tmp_path / "roster.db"


@pytest.fixture
def file(path: Path) -> Path:
    """Where the key is kept."""
    return path.with_name("roster.db.key")


@pytest.fixture
def no_umask() -> Iterator[None]:
    """A process that keeps nothing from anyone unless it says so."""
    before = os.umask(0)
    yield
    os.umask(before)


def opened(path: Path, setting: str = "") -> Encryption:
    """Opens the vault as a service does that starts on the database."""

    async def story() -> Encryption:
        database = SqliteDatabase(path)
        await database.open()
        try:
            return await open_encryption(setting, path, database)
        finally:
            await database.close()

    return asyncio.run(story())


def known(path: Path) -> str | None:
    """Returns the fingerprint that a database keeps."""

    async def story() -> str | None:
        database = SqliteDatabase(path)
        await database.open()
        try:
            return await database.read(key_fingerprint)
        finally:
            await database.close()

    return asyncio.run(story())


def error_response(path: Path, setting: str = "") -> str:
    """Returns why a vault is not opened, and sees that the database keeps what it knew."""
    before = known(path)
    with pytest.raises(StorageError) as caught:
        opened(path, setting)
    assert known(path) == before
    return str(caught.value)


@pytest.mark.usefixtures("no_umask")
def test_key_of_a_new_database_is_put_beside_it_for_its_owner_alone(path: Path, file: Path) -> None:
    encryption = opened(path)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = parse_key(file.read_text())
    assert key is not None
    assert Encryption(key).fingerprint() == encryption.fingerprint() == known(path)


def test_two_databases_in_a_folder_have_keys_of_their_own(tmp_path: Path) -> None:
    one, other = (opened(tmp_path / name) for name in ("a.db", "b.db"))

    assert one.fingerprint() != other.fingerprint()
    assert {"a.db.key", "b.db.key"} <= {found.name for found in tmp_path.iterdir()}


def test_key_beside_the_database_is_used_again_and_stays_as_it_is(path: Path, file: Path) -> None:
    first, text = opened(path), file.read_text()

    assert opened(path).fingerprint() == first.fingerprint()
    assert file.read_text() == text


def test_key_is_kept_nowhere_in_the_database(path: Path, file: Path) -> None:
    opened(path)

    key = file.read_text().strip()
    raw = parse_key(key) or b""
    for found in path.parent.iterdir():
        content = b"" if found == file else found.read_bytes()
        assert not [form for form in (key.encode(), raw, raw.hex().encode()) if form in content]


def test_key_that_the_operator_made_beforehand_is_used(path: Path, file: Path) -> None:
    key = make_key()
    file.write_text(key)

    assert opened(path).fingerprint() == Encryption(parse_key(key) or b"").fingerprint()


def test_key_that_is_set_is_used_and_kept_in_no_file(path: Path, file: Path) -> None:
    key = make_key()

    fingerprint = opened(path, key).fingerprint()

    assert fingerprint == Encryption(parse_key(key) or b"").fingerprint() == known(path)
    assert not file.exists()
    assert opened(path, key).fingerprint() == fingerprint


def test_key_that_is_set_is_stronger_than_the_file(path: Path, file: Path) -> None:
    fingerprint, key = opened(path).fingerprint(), file.read_text()
    file.write_text(make_key())

    assert opened(path, key).fingerprint() == fingerprint


def test_key_that_was_moved_from_the_file_to_the_setting_is_taken(path: Path, file: Path) -> None:
    fingerprint, key = opened(path).fingerprint(), file.read_text()
    file.unlink()

    assert opened(path, key).fingerprint() == fingerprint
    assert not file.exists()


def test_lost_key_is_refused_and_no_other_made(path: Path, file: Path) -> None:
    opened(path)
    file.unlink()

    why = error_response(path)

    assert str(file) in why
    assert "ROSTER_SECRET_KEY" in why
    assert not file.exists()


@pytest.mark.parametrize("place", ["file", "setting"])
def test_another_key_is_refused_and_not_repeated(path: Path, file: Path, place: str) -> None:
    opened(path)
    own, other = file.read_text(), make_key()
    if place == "file":
        file.write_text(other)

    why = error_response(path, other if place == "setting" else "")

    assert (str(file) if place == "file" else "ROSTER_SECRET_KEY") in why
    assert "another secret key" in why
    assert own.strip() not in why
    assert other not in why


@pytest.mark.parametrize("is_new", [True, False], ids=["new database", "database with a key"])
@pytest.mark.parametrize("content", [b"", b"no key\n", b"\xff\xfe"], ids=["empty", "text", "bytes"])
def test_file_that_holds_no_key_is_refused_named_and_left_alone(
    path: Path, file: Path, content: bytes, is_new: bool
) -> None:
    if not is_new:
        opened(path)
    file.write_bytes(content)

    assert str(file) in error_response(path)
    assert file.read_bytes() == content


@pytest.mark.parametrize("is_new", [True, False], ids=["new database", "database with a key"])
def test_folder_in_place_of_the_file_is_refused_and_named(
    path: Path, file: Path, is_new: bool
) -> None:
    if not is_new:
        opened(path)
        file.unlink()
    file.mkdir()

    assert str(file) in error_response(path)


# Through the command line


def test_service_makes_the_key_file_and_prints_nothing_of_it(path: Path, file: Path) -> None:
    service = start(path.parent)
    try:
        key = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    finally:
        service.stop()

    assert key not in "".join(service.printed)
    assert key not in service.log.read_text()


def test_database_whose_key_is_lost_is_not_served_and_the_file_is_named(
    path: Path, file: Path
) -> None:
    opened(path)
    file.unlink()

    done = roster("serve", ROSTER_DATABASE_URL=f"sqlite:///{path}", **FREE)

    line = complaint(done, ExitCode.DATABASE)
    assert str(file) in line
    assert "ROSTER_SECRET_KEY" in line


def test_malformed_key_is_refused_by_its_setting_and_not_repeated(path: Path, file: Path) -> None:
    settings = {"ROSTER_DATABASE_URL": f"sqlite:///{path}", **FREE}

    done = roster("serve", **{**settings, "ROSTER_SECRET_KEY": "mistyped"})

    line = complaint(done, ExitCode.USAGE)
    assert "ROSTER_SECRET_KEY" in line
    assert "mistyped" not in line
    (fresh,) = re.findall(r"[A-Za-z0-9+/]{43}=", line)
    assert parse_key(fresh) is not None
    assert not file.exists()
