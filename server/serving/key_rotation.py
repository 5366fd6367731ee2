"""Replaces the secret key of an installation, and adds keys of links.

A rotation encrypts the data keys with the new secret key, and changes nothing else:

1. `begin_rotation` stores the data keys for the new key too. Both keys open the database.
2. The new key replaces the previous one in the settings of all processes, or in the key file.
3. `finish_rotation` removes the data keys for the previous key. A new key of links is used from now
   on, because all processes have it.

Each step is one transaction or one replacement of a file, so the configured key opens the database
at any time, also after a crash.

Rotated data keys remain the same. In a database of a release without data keys, which compares the
stored fingerprint, the first one is the first secret key.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from ..security.encryption import KEY_BYTES, Encryption
from ..security.links import MAX_LINK_KEYS
from ..storage.backups.atomic_file import replace_atomically
from ..storage.database import StorageError
from ..storage.installation import StoredKeys, lock_keys, replace_keys, stored_keys
from ..storage.output_file import kept_name
from ..storage.transaction import Transaction
from ..values.database_url import DatabaseLocation
from .secret_key import DataKeys, check_key, encrypt_keys, fingerprints, keys_of, open_keys

Begin = Callable[[], AbstractContextManager[Transaction]]


def begin_rotation(
    setting: str, location: DatabaseLocation, new: str, begin: Begin, *, new_link_key: bool
) -> None:
    """Lets a new secret key open the database too. That of an unfinished rotation does not anymore.

    Raises StorageError, without effect.
    """
    with begin() as tx:
        secret, stored = _locked(setting, location, tx)
        keys, link_key = open_keys(secret, stored)
        if new_link_key and len(keys) == MAX_LINK_KEYS * KEY_BYTES:
            raise StorageError(f"{location} has the maximum of {MAX_LINK_KEYS} keys of links.")
        added = keys + os.urandom(KEY_BYTES) if new_link_key else keys
        # The newest has the latest time, also after the clock was set back.
        created_at = max(tx.now, stored[0].created_at + 1)
        replacement = encrypt_keys(base64.b64decode(new), DataKeys(added, link_key), created_at)
        if replacement.fingerprint in fingerprints(stored):
            raise StorageError("The new secret key already opens the database.")
        previous = keys_of(secret, stored)
        if not previous.encrypted:
            previous = encrypt_keys(secret, DataKeys(keys))
        replace_keys([replacement, previous], tx)


def finish_rotation(setting: str, location: DatabaseLocation, begin: Begin) -> bool:
    """Lets only the newest secret key open the database, which has to be the configured one.

    Returns whether another one did. Raises StorageError, without effect.
    """
    with begin() as tx:
        secret, stored = _locked(setting, location, tx)
        newest, *others = stored
        if Encryption(secret).fingerprint() != newest.fingerprint:
            raise StorageError("A newer secret key opens the database too. Set that one.")
        if others:
            number = len(open_keys(secret, stored).keys) // KEY_BYTES - 1
            replace_keys([newest._replace(link_key=number)], tx)
        return bool(others)


def rotate_file(
    file: Path, location: DatabaseLocation, new: str, begin: Begin, *, new_link_key: bool
) -> Path:
    """Replaces the secret key in its file. Returns the file in which the previous one is kept.

    Raises StorageError.
    """
    # The target of a symbolic link is replaced.
    file = file.resolve()
    with replace_atomically(file) as part:
        part.file.write(f"{new}\n".encode())
        part.sync()
        begin_rotation("", location, new, begin, new_link_key=new_link_key)
        part.copy_permissions(file)
        kept = kept_name(file)
        os.link(file, kept)
    finish_rotation("", location, begin)
    return kept


def _locked(
    setting: str, location: DatabaseLocation, tx: Transaction
) -> tuple[bytes, list[StoredKeys]]:
    """Returns the secret key and the stored keys, which no other transaction changes meanwhile."""
    lock_keys(tx)
    stored = stored_keys(tx)
    if not stored:
        raise StorageError(f"{location} has no secret key yet. The first start stores it.")
    return check_key(setting, location, fingerprints(stored)), stored
