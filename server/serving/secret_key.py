"""The secret key of an installation: a setting, or a file next to a SQLite database.

PostgreSQL requires the setting, because its processes share no folder. The secret key only encrypts
the data keys, which the database stores with the fingerprint of the secret key. A database is not
served with another key: suppressed addresses would not be recognized, and would receive mail again.

The data keys of a new database are random. In a database of a release without data keys, the secret
key is the data key, until it is rotated (see `key_rotation.py`).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..config import SettingError, Settings
from ..rpc.errors import Internal, Unavailable
from ..security.encryption import KEY_BYTES, DecryptionError, Encryption, make_key, parse_key
from ..storage.backups.atomic_file import replace_atomically
from ..storage.database import Database, StorageError
from ..storage.installation import StoredKeys, save_keys, stored_keys, unfinished_copy_of
from ..storage.transaction import Transaction
from ..values.database_url import DatabaseLocation

_SETTING = Settings.secret_key.environment
_PURPOSE = "data keys"


class DataKeys(NamedTuple):
    """The data keys, 32 bytes each, and the number of the key of new links."""

    keys: bytes
    link_key: int = 0


def check_secret_key(text: str, name: str = _SETTING) -> str:
    """Returns the setting. Raises SettingError unless it is empty or 32 bytes in base64."""
    if text and parse_key(text) is None:
        raise SettingError(
            f"{name} must be 32 bytes in base64. A newly generated key: {make_key()}"
        )
    return text


async def find_keys(setting: str, location: DatabaseLocation, database: Database) -> DataKeys:
    """Returns the data keys of an open database, and creates those of a new one.

    Without a setting, the secret key is in the file DATABASE.key, which is created for a new
    database. Raises StorageError if the key is missing or differs from the key of the database, or
    if the database is an unfinished copy.
    """
    original = await database.read(unfinished_copy_of)
    if original is not None:
        raise StorageError(
            f"{location} is an unfinished copy of {original}. Run `roster copy` again to finish it."
        )
    stored = await database.read(stored_keys)
    if not stored:
        secret = _available_key(setting, location) or _new_key(location)
        new = encrypt_keys(secret, DataKeys(os.urandom(KEY_BYTES)))
        await database.write(partial(save_keys, new))
        # Another process may have stored its keys first.
        stored = await database.read(stored_keys)
    return open_keys(check_key(setting, location, fingerprints(stored)), stored)


async def reload_keys(
    setting: str, location: DatabaseLocation, database: Database, encryption: Encryption
) -> int:
    """Reads the data keys again, for keys of links that were added. Returns 0.

    Raises StorageError if the secret key does not open the database anymore.
    """
    try:
        stored = await database.read(stored_keys)
    except (Unavailable, Internal):
        return 0
    encryption.set_keys(*open_keys(check_key(setting, location, fingerprints(stored)), stored))
    return 0


def fingerprints(stored: Sequence[StoredKeys]) -> list[str]:
    """Returns the fingerprints of the secret keys that open a database, the newest first."""
    return [each.fingerprint for each in stored]


def encrypt_keys(secret: bytes, keys: DataKeys, created_at: int = 0) -> StoredKeys:
    """Encrypts the data keys with a secret key."""
    encryption = Encryption(secret)
    encrypted = encryption.encrypt(_PURPOSE, keys.keys)
    return StoredKeys(encryption.fingerprint(), encrypted, keys.link_key, created_at)


def open_keys(secret: bytes, stored: Sequence[StoredKeys]) -> DataKeys:
    """Decrypts the data keys with a secret key that opens the database. Raises StorageError."""
    keys = keys_of(secret, stored)
    if not keys.encrypted:
        return DataKeys(secret)
    try:
        return DataKeys(Encryption(secret).open(_PURPOSE, keys.encrypted), keys.link_key)
    except DecryptionError:
        raise StorageError("The data keys are damaged. Restore a backup.") from None


def keys_of(secret: bytes, stored: Sequence[StoredKeys]) -> StoredKeys:
    """Returns the data keys that are encrypted with a secret key that opens the database."""
    return stored[fingerprints(stored).index(Encryption(secret).fingerprint())]


def available_data_keys(
    setting: str, location: DatabaseLocation, tx: Transaction
) -> DataKeys | None:
    """Returns the data keys of a database, or None if the secret key is missing.

    Raises StorageError if another secret key is available instead.
    """
    stored = stored_keys(tx)
    secret = available_key(setting, location, fingerprints(stored)) if stored else None
    return None if secret is None else open_keys(secret, stored)


def check_key(setting: str, location: DatabaseLocation, known: Collection[str]) -> bytes:
    """Returns the secret key, whose fingerprint is one of those that a database stores.

    Raises StorageError if it is missing or another key is available instead.
    """
    key, file = available_key(setting, location, known), file_of(setting, location)
    if key is None:
        raise StorageError(
            f"The secret key of {location} is missing."
            f" {f'Restore {file}, or set' if file else 'Set'} {_SETTING}."
        )
    return key


def available_key(
    setting: str, location: DatabaseLocation, known: Collection[str], subject: str = ""
) -> bytes | None:
    """Returns the secret key with one of these fingerprints, or None if it is missing.

    Raises StorageError if another key is available instead; the error names the `subject`, by
    default the database.
    """
    key = _available_key(setting, location)
    if key is not None and Encryption(key).fingerprint() not in known:
        raise StorageError(
            f"{subject or location} requires another secret key than that in"
            f" {file_of(setting, location) or _SETTING}. After a rotation, the database requires"
            " the new key, and a backup from before the previous one."
        )
    return key


def has_backup_key(setting: str, database: Path, known: Collection[str]) -> bool:
    """Returns whether the secret key of a backup is available for a database.

    Raises StorageError if another key is available instead.
    """
    return not known or available_key(setting, database, known, "The backup") is not None


def key_file(database: Path) -> Path:
    """Returns the file that contains the secret key of a SQLite file, unless the setting does."""
    return database.with_name(f"{database.name}.key")


def file_of(setting: str, location: DatabaseLocation) -> Path | None:
    """Returns the file of the secret key, or None if the setting contains the key."""
    return key_file(location) if isinstance(location, Path) and not setting else None


def _available_key(setting: str, location: DatabaseLocation) -> bytes | None:
    """Returns the key in the setting or the file, or None if there is neither."""
    file = file_of(setting, location)
    text = _read(file) if file else setting or None
    if text is None:
        return None
    key = parse_key(text)
    if key is None:
        raise StorageError(f"{file} does not contain a key of 32 bytes in base64.")
    return key


def _new_key(location: DatabaseLocation) -> bytes:
    """Returns the key of a new database. Raises StorageError if the setting is required."""
    if isinstance(location, Path):
        key = make_key()
        with replace_atomically(key_file(location)) as part:
            part.file.write(f"{key}\n".encode())
        return base64.b64decode(key)
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
