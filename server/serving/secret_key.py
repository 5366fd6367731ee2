"""The secret key of an installation: set by the operator, or kept beside a SQLite database.

A server has no place beside it that all of its processes share; there the key is set.
A database remembers which key it was written with. With another key it could not
recognise the addresses that are suppressed, and they would be mailed again; so it
is not served at all.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..config import SETTINGS, Place
from ..encryption import Encryption, make_key, parse_key
from ..storage.database import Database, StorageError
from ..storage.installation import key_fingerprint, save_key_fingerprint, unfinished_copy_of

_SETTING = SETTINGS["secret_key"].environment


async def open_encryption(setting: str, place: Place, database: Database) -> Encryption:
    """Returns the vault of a database that is open. Raises StorageError as `find_key` does."""
    return Encryption(await find_key(setting, place, database))


async def find_key(setting: str, place: Place, database: Database) -> bytes:
    """Returns the secret key of a database that is open.

    Without a setting, the key is in the file `<database>.key`, which is made for a
    new database. Raises StorageError if there is no key or it is not the one that the
    database was written with, and if the database is a copy that lacks something yet.
    """
    original = await database.read(unfinished_copy_of)
    if original is not None:
        raise StorageError(
            f"{place} is an unfinished copy of {original}. `roster copy` goes on with it."
        )
    known = await database.read(key_fingerprint)
    file = key_file(place) if isinstance(place, Path) else None
    text = setting or (_read(file) if file else None)
    if text is None and known is None:
        text = _first(file)
    key = parse_key(text) if text else None
    if text is not None and key is None:
        raise StorageError(f"{file} holds no key: 32 bytes in base64.")
    if key is None:
        raise StorageError(
            f"The secret key that {place} was written with is missing."
            f" {f'Put back {file}, or set' if file else 'Set'} {_SETTING}."
        )
    fingerprint = Encryption(key).fingerprint()
    if known is None:
        await database.write(lambda tx: save_key_fingerprint(fingerprint, tx))
        # Another process may have been the first to keep one.
        known = await database.read(key_fingerprint)
    if known != fingerprint:
        given = _SETTING if setting else str(file)
        raise StorageError(f"{place} was written with another secret key than that in {given}.")
    return key


def is_at_hand(setting: str, place: Path, known: str) -> bool:
    """Whether there is a key for what is to be the database of a file; of which it is `known`.

    Raises StorageError if there is one and it is another.
    """
    file = key_file(place)
    text = setting or _read(file)
    if text is None:
        return False
    key = parse_key(text)
    if key is None or Encryption(key).fingerprint() != known:
        given = _SETTING if setting else str(file)
        raise StorageError(f"The backup was written with another secret key than that in {given}.")
    return True


def key_file(place: Path) -> Path:
    """Returns where the key of a SQLite file is kept, unless it is set."""
    return place.with_name(f"{place.name}.key")


def _first(file: Path | None) -> str:
    """Returns the key that a new database begins with. Raises StorageError if it is to be set."""
    if file is not None:
        return _make(file)
    raise StorageError(
        f"{_SETTING} has to be set for a PostgreSQL database, to the same for each process that"
        f" serves it, and kept safe; such as the freshly made {make_key()}"
    )


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{file} cannot be read: {error}.") from error


def _make(file: Path) -> str:
    """Writes a fresh key, which is on the disk, whole, before anything is written with it."""
    key, new = make_key(), file.with_name(f"{file.name}.new")
    try:
        handle = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as target:
            target.write(f"{key}\n")
            target.flush()
            os.fsync(target.fileno())
        new.rename(file)
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise StorageError(f"{file} cannot be written: {error.strerror}.") from error
    return key
