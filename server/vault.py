"""The secret key of an installation, and what is made with it.

What has to be recognised without being kept is kept as a keyed hash; what has to
be kept and is nobody's business is sealed. Each purpose has a key of its own,
derived from the one secret key, so that what was made for one fits no other.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_NONCE_BYTES = 12


class NotSealedHere(Exception):
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


class Vault:
    """Hashes and seals with the secret key of an installation (32 bytes)."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def fingerprint(self) -> str:
        """Returns what tells whether a database belongs to the key; says nothing of the key."""
        return self._derive("fingerprint").hex()[:32]

    def digest(self, purpose: str, *parts: str) -> str:
        """Returns HMAC-SHA256 of texts that hold no NUL, in hexadecimal."""
        message = "\0".join(parts).encode()
        return hmac.digest(self._derive(purpose), message, "sha256").hex()

    def seal(self, purpose: str, data: bytes) -> bytes:
        """Encrypts data with AES-GCM; the same data gives other bytes each time."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self._derive(purpose)).encrypt(nonce, data, None)

    def open(self, purpose: str, sealed: bytes) -> bytes:
        """Returns what was sealed. Raises NotSealedHere."""
        nonce, data = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self._derive(purpose)).decrypt(nonce, data, None)
        except (InvalidTag, ValueError):
            raise NotSealedHere from None

    def _derive(self, purpose: str) -> bytes:
        return hmac.digest(self._key, purpose.encode(), hashlib.sha256)
