"""The secret key of an installation, and what is made with it.

What has to be recognised without being kept is kept as a keyed hash; what has to
be kept and is nobody's business is sealed. Each purpose has a key of its own,
derived from the one secret key, so that what was made for one fits no other.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12


class DecryptionError(Exception):
    """What was to be opened was not sealed with this key for this purpose, or was changed."""


def make_key() -> str:
    """Returns a fresh secret key: 32 random bytes in base64."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def parse_key(text: str) -> bytes | None:
    """Returns the bytes of a secret key in base64, or None if the text is none."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


class Encryption:
    """Hashes and seals with the secret key of an installation (32 bytes).

    It may be made before the key is known; until it is unlocked, nothing can be asked of it.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key
        self._derived: dict[str, bytes] = {}

    def set_key(self, key: bytes) -> None:
        """Gives its key to a vault that was made without one."""
        assert self._key is None
        self._key = key

    def fingerprint(self) -> str:
        """Returns what tells whether a database belongs to the key; says nothing of the key."""
        return self._derive("fingerprint").hex()[:32]

    def digest(self, purpose: str, *parts: str) -> str:
        """Returns HMAC-SHA256 of texts that hold no NUL, in hexadecimal."""
        return hmac.digest(self._derive(purpose), _joined(parts), "sha256").hex()

    def encrypt(self, purpose: str, data: bytes, *place: str) -> bytes:
        """Encrypts data with AES-GCM; the same data gives other bytes each time.

        It can be opened only by whoever names the place that it was sealed for.
        """
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self._derive(purpose)).encrypt(nonce, data, _joined(place))

    def open(self, purpose: str, encrypted: bytes, *place: str) -> bytes:
        """Returns what was sealed for the place. Raises DecryptionError."""
        nonce, data = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
        try:
            return AESGCM(self._derive(purpose)).decrypt(nonce, data, _joined(place))
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def _derive(self, purpose: str) -> bytes:
        if purpose not in self._derived:
            assert self._key is not None
            self._derived[purpose] = hmac.digest(self._key, purpose.encode(), "sha256")
        return self._derived[purpose]


def _joined(parts: Iterable[str]) -> bytes:
    return "\0".join(parts).encode()
