"""Creates, checks and hashes API keys, and compares their scopes."""

from __future__ import annotations

import hashlib
import re
import secrets
import zlib

MAX_NAME_LENGTH = 100
# How long the previous secret of a rotated key can work.
MAX_GRACE_SECONDS = 7 * 24 * 3600
READ, WRITE, ADMIN = "read", "write", "admin"
# The scope of keys that can be published.
SIGNUP = "signup"
SCOPES = (READ, WRITE, ADMIN, SIGNUP)
# The scopes that each scope includes.
_INCLUDED = {
    SIGNUP: {SIGNUP},
    READ: {READ},
    WRITE: {SIGNUP, READ, WRITE},
    ADMIN: {SIGNUP, READ, WRITE, ADMIN},
}

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RANDOM_LENGTH = 40
_CHECK_LENGTH = 6
_SHAPE = re.compile(rf"rk_([0-9A-Za-z]{{{_RANDOM_LENGTH}}})([0-9A-Za-z]{{{_CHECK_LENGTH}}})")


def make_secret() -> str:
    """Returns a new key: rk_, 40 random base62 characters, and 6 of their CRC-32."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return f"rk_{random}{_checksum(random)}"


def is_well_formed(secret: str) -> bool:
    """Whether a text has the form and checksum of a key.

    A mistyped or invented key is rejected without a database query.
    """
    match = _SHAPE.fullmatch(secret)
    return match is not None and _checksum(match[1]) == match[2]


def _checksum(random: str) -> str:
    number = zlib.crc32(random.encode())
    digits = ""
    for _ in range(_CHECK_LENGTH):
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return digits


def hash_secret(secret: str) -> str:
    """Returns the stored hash of a key; 238 random bits need no salt and no stretching."""
    return hashlib.sha256(secret.encode()).hexdigest()


def allows(scope: str, needed: str) -> bool:
    """Whether a key of a scope can make a call that needs another."""
    return needed in _INCLUDED[scope]
