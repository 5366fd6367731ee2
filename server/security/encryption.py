"""Encrypts and hashes data with the data keys of an installation.

The data keys are stored encrypted with the secret key. The first one (32 bytes) is for everything;
those after it are for links only, and replace it there: the numbers in links count from 0, the data
key itself.

Data that is only compared is stored as a keyed hash (HMAC-SHA256). Confidential data is
stored encrypted (AES-256-GCM). Short data that is not stored, such as the token of a link, is
encrypted without a nonce (AES-SIV). Each purpose has its own key, derived from a data key.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from collections.abc import Iterable
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESSIV

KEY_BYTES = 32
_NONCE_BYTES = 12


class DecryptionError(Exception):
    """The data was encrypted with another key, purpose or context, or was changed."""


def make_key() -> str:
    """Returns a new secret key: 32 random bytes in base64."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def parse_key(text: str) -> bytes | None:
    """Decodes a secret key from base64. Returns None if it is not valid."""
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES else None


class LinkKeys(NamedTuple):
    """The keys of links by number, and the number of the key of new links."""

    keys: tuple[Encryption, ...]
    current: int


class Encryption:
    """Encrypts and hashes with the data keys of an installation, or with one key.

    The keys can be set later, before the first use.
    """

    link_keys: LinkKeys

    def __init__(self, keys: bytes = b"", link_key: int = 0) -> None:
        self._key = b""
        self._derived: dict[str, bytes] = {}
        self._siv_by_purpose: dict[str, AESSIV] = {}
        if keys:
            self.set_keys(keys, link_key)

    def set_keys(self, keys: bytes, link_key: int) -> None:
        """Sets the data keys. Later calls can add keys of links, and change that of new links."""
        key, *others = (keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES))
        assert self._key in (b"", key)
        self._key = key
        self.link_keys = LinkKeys((self, *map(Encryption, others)), link_key)

    def fingerprint(self) -> str:
        """Returns a hash that identifies the key, without revealing it."""
        return self._derive("fingerprint").hex()[:32]

    def digest(self, purpose: str, *parts: str) -> str:
        """Returns the HMAC-SHA256 of texts without NUL, in hexadecimal."""
        return hmac.digest(self._derive(purpose), _join(parts), "sha256").hex()

    def encrypt(self, purpose: str, data: bytes, *context: str) -> bytes:
        """Encrypts data with AES-GCM and a random nonce.

        `context` is authenticated: decryption requires the same one.
        """
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + AESGCM(self._derive(purpose)).encrypt(nonce, data, _join(context))

    def open(self, purpose: str, encrypted: bytes, *context: str) -> bytes:
        """Decrypts data that was encrypted in this context. Raises DecryptionError."""
        nonce, data = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
        try:
            return AESGCM(self._derive(purpose)).decrypt(nonce, data, _join(context))
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def encrypt_siv(self, purpose: str, data: bytes) -> bytes:
        """Encrypts data with AES-SIV: equal data has an equal result, 16 bytes longer."""
        return self._siv(purpose).encrypt(data, None)

    def open_siv(self, purpose: str, encrypted: bytes) -> bytes:
        """Decrypts data of `encrypt_siv`. Raises DecryptionError."""
        try:
            return self._siv(purpose).decrypt(encrypted, None)
        except (InvalidTag, ValueError):
            raise DecryptionError from None

    def _siv(self, purpose: str) -> AESSIV:
        if purpose not in self._siv_by_purpose:
            assert self._key
            key = hmac.digest(self._key, purpose.encode(), "sha512")
            self._siv_by_purpose[purpose] = AESSIV(key)
        return self._siv_by_purpose[purpose]

    def _derive(self, purpose: str) -> bytes:
        if purpose not in self._derived:
            assert self._key
            self._derived[purpose] = hmac.digest(self._key, purpose.encode(), "sha256")
        return self._derived[purpose]


def _join(parts: Iterable[str]) -> bytes:
    return "\0".join(parts).encode()
