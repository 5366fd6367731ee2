"""The secret key of an installation: set by the operator, or kept beside the database.

A database remembers which key it was written with. With another key it could not
recognise the addresses that are suppressed, and they would be mailed again; so it
is not served at all.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..config import SETTINGS
from ..storage.database import Database, StorageError
from ..storage.installation import keep_key_fingerprint, key_fingerprint
from ..vault import Vault, make_key, parse_key


async def open_vault(setting: str, path: Path, database: Database) -> Vault:
    """Returns the vault of a database that is open.

    Without a setting, the key is in the file `<database>.key`, which is made for a
    new database. Raises StorageError if there is no key or it is not the one that the
    database was written with.
    """
    known = await database.read(key_fingerprint)
    file = path.with_name(f"{path.name}.key")
    text = setting or _read(file)
    if text is None and known is None:
        text = _make(file)
    key = parse_key(text) if text else None
    if text is not None and key is None:
        raise StorageError(f"{file} holds no key: 32 bytes in base64.")
    if key is None:
        raise StorageError(
            f"The secret key that {path} was written with is missing. Put back {file}, or set"
            f" {SETTINGS['secret_key'].environment}."
        )
    if known not in (None, Vault(key).fingerprint()):
        given = SETTINGS["secret_key"].environment if setting else str(file)
        raise StorageError(f"{path} was written with another secret key than that in {given}.")
    vault = Vault(key)
    if known is None:
        await database.write(lambda tx: keep_key_fingerprint(vault.fingerprint(), tx))
    return vault


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
