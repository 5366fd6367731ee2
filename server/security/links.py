"""Creates and reads the links of subscribers: URLs with a token that is encrypted, not stored.

A token contains only letters and digits: it is in base 64, with 00, 01 and 02 for 0, + and /.

    version and key     1 byte
    encrypted           AES-SIV (RFC 5297), which is authenticated
        purpose         1 byte: 1 is CONFIRM, 2 or more UNSUBSCRIBE
        account         16 bytes, the number of its ID
        subscriber      16 bytes
        UNSUBSCRIBE:    the email key
        CONFIRM:        expiry in milliseconds (8 bytes), status revision (8 bytes) and hash of the
                        email key (16 bytes)

An unsubscribe link contains the address, so it works even if the subscriber was deleted. A
confirmation link works until it expires, the address or the status changes, or new links have
another key. Links that unsubscribe work with all keys.

Earlier versions issued tokens with a MAC that covers the current address:

    u 01M7Y2MPAQ036JVMBN3RCKGA5K 01M7Y2MPAQ036JVMBN3RCKGA5K            4f0c2b...
    c 01M7Y2MPAQ036JVMBN3RCKGA5K 01M7Y2MPAQ036JVMBN3RCKGA5K 01M9KZVQ8T 1d93ae...
"""

from __future__ import annotations

import hmac
import html
import re
import struct
import zlib
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from ulid import ULID

from ..rpc.errors import PublicUrlNotSet
from ..values.emails import unicode_key
from ..values.ids import id_bytes, timestamp_of
from .encryption import DecryptionError, Encryption

DAY = 24 * 3600 * 1000
# How long a confirmation link is valid, in milliseconds.
CONFIRM_TIME = 30 * DAY
# How long a person can undo an unsubscription, in milliseconds.
UNDO_TIME = 10 * 60 * 1000
MAX_TOKEN_LENGTH = 420

# Each purpose of `Encryption` has its own key.
_ENCRYPTED, _SIGNED = "link token", "link"
# The version is the high 4 bits of a token's first byte, the number of the key the low 4 bits.
_VERSION = 1
MAX_LINK_KEYS = 16
_HEAD = struct.Struct(">B16s16s")
_CONFIRM = struct.Struct(">QQ16s")
# Longer email keys are compressed. They are rare: lower case can be longer in UTF-8.
_MAX_PLAIN_BYTES = 254
_COMPRESSED = b"\0"

_SHAPE = re.compile("(?:[1-9A-Za-z]|0[0-2])+")
_ESCAPED = re.compile("0([0-2])")

_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
# Hexadecimal digits of the MAC: half of HMAC-SHA256.
_MAC_LENGTH = 32
_SIGNED_SHAPE = re.compile(
    rf"(?:u({_ID})({_ID})()|c({_ID})({_ID})([0-7][0-9A-HJKMNP-TV-Z]{{9}}))([0-9a-f]{{{_MAC_LENGTH}}})"
)
# Longer texts contain no token.
_MAX_TEXT_LENGTH = 3 * MAX_TOKEN_LENGTH
# The parts of a text between characters that no token contains.
_PARTS = re.compile("[0-9A-Za-z]+")
# Quoted-printable (RFC 2045) that was not decoded: a line break, or a character. HTML also has
# line breaks.
_SOFT_BREAK = re.compile(r"=[ \t]*\r?\n|<w?br */?>")
_QUOTED_PRINTABLE = re.compile("=([0-9A-F]{2})")


class Purpose(IntEnum):
    """What a link does; the numbers of Link.Purpose."""

    CONFIRM = 1
    UNSUBSCRIBE = 2


class Token(NamedTuple):
    """The content of a token; `expires_at` in milliseconds.

    An encrypted token that unsubscribes has an `email_key`, one that confirms a `status_revision`
    and an `email_hash`. A signed token is not checked yet: its `mac` covers `signed` and the
    address.
    """

    purpose: Purpose
    account_id: str
    subscriber_id: str
    email_key: str | None = None
    expires_at: int | None = None
    status_revision: int | None = None
    email_hash: bytes = b""
    signed: str = ""
    mac: str = ""


def masked(email_key: str) -> str:
    """Returns an address without most of its local part: ad…@example.com.

    The first two characters remain, but never the whole local part: b…@example.com for bo, and
    …@example.com for a single character.
    """
    local, _, domain = (unicode_key(email_key) or email_key).rpartition("@")
    return f"{local[: min(2, len(local) - 1)]}…@{domain}"


class Links:
    """Creates links on the public URL, and reads their tokens."""

    def __init__(self, encryption: Encryption, public_url: str = "") -> None:
        self._encryption = encryption
        self._public_url = public_url

    def set_default_url(self, url: str) -> None:
        """Sets the public URL unless it is set."""
        self._public_url = self._public_url or url

    @property
    def public_url(self) -> str:
        """The URL that links begin with; empty if there is none."""
        return self._public_url

    def required_url(self) -> str:
        """Returns the public URL. Raises PublicUrlNotSet."""
        if not self._public_url:
            raise PublicUrlNotSet
        return self._public_url

    @property
    def has_url(self) -> bool:
        return bool(self._public_url)

    def confirm_url(
        self,
        account_id: str,
        subscriber_id: str,
        email_key: str,
        status_revision: int,
        expires_at: int,
    ) -> str:
        """Returns the link that confirms. Raises PublicUrlNotSet."""
        rest = _CONFIRM.pack(expires_at, status_revision, _hash(email_key))
        return self._url("c", Purpose.CONFIRM, account_id, subscriber_id, rest)

    def unsubscribe_url(self, account_id: str, subscriber_id: str, email_key: str) -> str:
        """Returns the link that unsubscribes. Raises PublicUrlNotSet."""
        rest = email_key.encode()
        if len(rest) > _MAX_PLAIN_BYTES:
            rest = _COMPRESSED + zlib.compress(rest, 9)
        return self._url("u", Purpose.UNSUBSCRIBE, account_id, subscriber_id, rest)

    def _url(
        self, path: str, purpose: Purpose, account_id: str, subscriber_id: str, rest: bytes
    ) -> str:
        if not self._public_url:
            raise PublicUrlNotSet
        ids = (_account_bytes(account_id), id_bytes(subscriber_id))
        keys, current = self._encryption.link_keys
        version_and_key = bytes([_VERSION << 4 | current])
        # The length of the text depends on the encrypted bytes. If it is too long, which can happen
        # for addresses of nearly the maximum length, the next number of the purpose is tried.
        for number in range(purpose, 256):
            data = _HEAD.pack(number, *ids) + rest
            text = _text(version_and_key + keys[current].encrypt_siv(_ENCRYPTED, data))
            if len(text) <= MAX_TOKEN_LENGTH:
                break
        return f"{self._public_url}/{path}/{text}"

    def token(self, text: str) -> Token | None:
        """Returns the content of a token, or None if the text is not one.

        Characters that mail programs add after it or within it are ignored, see `_spellings`.
        """
        tokens = map(self._exact_token, _spellings(text))
        return next((token for token in tokens if token is not None), None)

    def _exact_token(self, text: str) -> Token | None:
        match = _SIGNED_SHAPE.fullmatch(text)
        if match is not None:
            groups = [each for each in match.groups() if each is not None]
            return self._ended_if_outdated(_signed_token(text, *groups), 0)
        data = _bytes(text) if len(text) <= MAX_TOKEN_LENGTH else b""
        version, number = divmod(data[0], 16) if data else (0, 0)
        keys = self._encryption.link_keys.keys
        if version != _VERSION or number >= len(keys):
            return None
        try:
            return self._ended_if_outdated(_encrypted_token(keys[number], data[1:]), number)
        except DecryptionError:
            return None

    def _ended_if_outdated(self, token: Token, key: int) -> Token:
        """Returns the token, expired if it confirms and its key is older than that of new links."""
        is_outdated = key < self._encryption.link_keys.current
        return token._replace(expires_at=0) if is_outdated and token.expires_at else token

    def is_for(self, token: Token, email_key: str) -> bool:
        """Returns whether a token without an email key was created for the address."""
        if token.email_hash:
            return token.email_hash == _hash(email_key)
        mac = self._encryption.digest(_SIGNED, token.signed, email_key)[:_MAC_LENGTH]
        return hmac.compare_digest(token.mac, mac)


def unsubscribe_headers(url: str) -> dict[str, str]:
    """Returns the header fields of a mail for one-click unsubscription (RFC 8058)."""
    return {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}


def _spellings(text: str) -> Iterator[str]:
    """Yields the tokens that a text can contain, the most likely one first.

    Mail programs take punctuation after a URL for a part of it, and break or encode long URLs. All
    tokens are authenticated, so a wrong one does nothing.
    """
    if len(text) > _MAX_TEXT_LENGTH:
        return
    text = html.unescape(unquote(text))
    yield "".join(_PARTS.findall(text)[:1])
    joined = _SOFT_BREAK.sub("", text)
    decoded = _QUOTED_PRINTABLE.sub(lambda match: chr(int(match[1], 16)), joined)
    yield "".join(_PARTS.findall(decoded)[:1])
    for each in (decoded, joined):
        yield "".join(_PARTS.findall(each))


def _encrypted_token(key: Encryption, encrypted: bytes) -> Token:
    """Returns the content of an encrypted token. Raises DecryptionError."""
    data = key.open_siv(_ENCRYPTED, encrypted)
    number, account, subscriber = _HEAD.unpack_from(data)
    purpose, rest = Purpose(min(number, Purpose.UNSUBSCRIBE)), data[_HEAD.size :]
    ids = (str(ULID.from_bytes(account)), str(ULID.from_bytes(subscriber)))
    if purpose is Purpose.CONFIRM:
        return Token(purpose, *ids, None, *_CONFIRM.unpack(rest))
    if rest.startswith(_COMPRESSED):
        rest = zlib.decompress(rest[1:])
    return Token(purpose, *ids, rest.decode())


def _signed_token(text: str, account_id: str, subscriber_id: str, time: str, mac: str) -> Token:
    return Token(
        Purpose.CONFIRM if time else Purpose.UNSUBSCRIBE,
        account_id,
        subscriber_id,
        expires_at=timestamp_of(time) if time else None,
        signed=text[: -len(mac)],
        mac=mac,
    )


def _hash(email_key: str) -> bytes:
    return sha256(email_key.encode()).digest()[:16]


# Many links are of one account (`export with links` in `make bench`).
@lru_cache(16)
def _account_bytes(account_id: str) -> bytes:
    return id_bytes(account_id)


def _text(data: bytes) -> str:
    # Base 62 takes ten times as long (`export with links` in `make bench`).
    text = b2a_base64(data, newline=False).decode("ascii").rstrip("=")
    return text.replace("0", "00").replace("+", "01").replace("/", "02")


def _bytes(text: str) -> bytes:
    """Returns the bytes of a text of `_text`; none for any other text."""
    if _SHAPE.fullmatch(text) is None:
        return b""
    base64 = _ESCAPED.sub(lambda match: "0+/"[int(match[1])], text)
    try:
        data = a2b_base64(base64 + "=" * (-len(base64) % 4))
    except ValueError:
        return b""
    return data if _text(data) == text else b""
