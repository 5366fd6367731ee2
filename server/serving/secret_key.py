"""The secret key of an installation: a setting, or a file next to a SQLite database.

PostgreSQL requires the setting, because its processes share no folder. A database stores the
fingerprint of its key, and is not served with another key: suppressed addresses would not be
recognized, and would receive mail again.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

from ..config import SettingError, Settings
from ..security.encryption import Encryption, make_key, parse_key
from ..storage.database import Database, StorageError
from ..storage.installation import key_fingerprint, save_key_fingerprint, unfinished_copy_of
from ..storage.output_file import sync_folder
from ..values.database_url import DatabaseLocation

_SETTING = Settings.secret_key.environment


def check_secret_key(text: str) -> str:
    """Returns the setting. Raises SettingError unless it is empty or 32 bytes in base64."""
    if text and parse_key(text) is None:
        raise SettingError(
            f"{_SETTING} must be 32 bytes in base64. A newly generated key: {make_key()}"
        )
    return text


async def find_key(setting: str, location: DatabaseLocation, database: Database) -> bytes:
    """Returns the secret key of an open database.

    Without a setting, the key is in the file DATABASE.key, which is created for a new database.
    Raises StorageError if the key is missing or differs from the key of the database, or if the
    database is an unfinished copy.
    """
    original = await database.read(unfinished_copy_of)
    if original is not None:
        raise StorageError(
            f"{location} is an unfinished copy of {original}. Run `roster copy` again to finish it."
        )
    known = await database.read(key_fingerprint)
    if known is None:
        key = _available_key(setting, location) or _new_key(location)
        fingerprint = Encryption(key).fingerprint()
        await database.write(lambda tx: save_key_fingerprint(fingerprint, tx))
        # Another process may have stored its key first.
        known = await database.read(key_fingerprint) or fingerprint
    return check_key(setting, location, known)


def check_key(setting: str, location: DatabaseLocation, fingerprint: str) -> bytes:
    """Returns the secret key with the fingerprint of a database.

    Raises StorageError if it is missing or another key is available instead.
    """
    key, file = available_key(setting, location, fingerprint), _file_of(location)
    if key is None:
        raise StorageError(
            f"The secret key of {location} is missing."
            f" {f'Restore {file}, or set' if file else 'Set'} {_SETTING}."
        )
    return key


def available_key(
    setting: str, location: DatabaseLocation, fingerprint: str, subject: str = ""
) -> bytes | None:
    """Returns the secret key with a fingerprint, that of a database, or None if it is missing.

    Raises StorageError if another key is available instead; the error names the `subject`, by
    default the database.
    """
    key = _available_key(setting, location)
    if key is not None and Encryption(key).fingerprint() != fingerprint:
        source = _SETTING if setting else _file_of(location)
        raise StorageError(
            f"{subject or location} requires another secret key than that in {source}."
        )
    return key


def has_backup_key(setting: str, database: Path, fingerprint: str) -> bool:
    """Returns whether the secret key of a backup is available for a database.

    Raises StorageError if another key is available instead.
    """
    return available_key(setting, database, fingerprint, "The backup") is not None


def key_file(database: Path) -> Path:
    """Returns the file that contains the secret key of a SQLite file, unless the setting does."""
    return database.with_name(f"{database.name}.key")


def _file_of(location: DatabaseLocation) -> Path | None:
    return key_file(location) if isinstance(location, Path) else None


def _available_key(setting: str, location: DatabaseLocation) -> bytes | None:
    """Returns the key in the setting or the file, or None if there is neither."""
    file = _file_of(location)
    text = setting or (_read(file) if file else None)
    if text is None:
        return None
    key = parse_key(text)
    if key is None:
        raise StorageError(f"{file} does not contain a key of 32 bytes in base64.")
    return key


def _new_key(location: DatabaseLocation) -> bytes:
    """Returns the key of a new database. Raises StorageError if the setting is required."""
    file = _file_of(location)
    if file is not None:
        return _create(file)
    raise StorageError(
        f"{_SETTING} is required with PostgreSQL. Set it to the same value for every process of the"
        f" database, and store it safely. A newly generated key: {make_key()}"
    )


def _read(file: Path) -> str | None:
    try:
        return file.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"{file} cannot be read: {error}.") from error


def _create(file: Path) -> bytes:
    """Creates a key, and returns when its file is on disk."""
    key, new = make_key(), file.with_name(f"{file.name}.new")
    try:
        handle = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as target:
            target.write(f"{key}\n")
            target.flush()
            os.fsync(target.fileno())
        new.rename(file)
        sync_folder(file.parent)
    except OSError as error:
        raise StorageError(f"{file} cannot be written: {error.strerror}.") from error
    return base64.b64decode(key)
