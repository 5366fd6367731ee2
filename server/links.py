"""Creates and checks the links of subscribers: URLs with a token that is signed, not stored.

A token is the purpose (one character), the IDs of the account and the subscriber, the time of
expiry if it has one, and a MAC, in characters that a URL needs not escape:

    u 01M7Y2MPAQ036JVMBN3RCKGA5K 01M7Y2MPAQ036JVMBN3RCKGA5K            4f0c2b...
    c 01M7Y2MPAQ036JVMBN3RCKGA5K 01M7Y2MPAQ036JVMBN3RCKGA5K 01M9KZVQ8T 1d93ae...

The MAC covers all of it and the address of the subscriber, so a token becomes invalid when the
address changes.
"""

from __future__ import annotations

import hmac
import re
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from .encryption import Encryption
from .errors import PublicUrlNotSet
from .ids import first_id_at, timestamp_of

DAY = 24 * 3600 * 1000
# Milliseconds for which a link that confirms works.
CONFIRM_TIME = 30 * DAY
# Milliseconds for which a person can undo that they unsubscribed.
UNDO_TIME = 10 * 60 * 1000

_PURPOSE_OF_KEY = "link"
# A change of the status that is so recent, in milliseconds, can have the timestamp of a new link.
_RECENT = 1000
# Hexadecimal digits of the MAC: half of HMAC-SHA256, the least that RFC 2104 recommends.
_MAC_LENGTH = 32
_TIME_LENGTH = 10
_ID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_SHAPE = re.compile(
    rf"(?:u({_ID})({_ID})()|c({_ID})({_ID})([0-7][0-9A-HJKMNP-TV-Z]{{9}}))([0-9a-f]{{{_MAC_LENGTH}}})"
)


class Purpose(IntEnum):
    """What a link does; the numbers of Link.Purpose."""

    CONFIRM = 1
    UNSUBSCRIBE = 2


class Token(NamedTuple):
    """A token that was parsed but not checked; `expires_at` in milliseconds.

    `signed` is the text that its MAC covers in addition to the address.
    """

    purpose: Purpose
    account_id: str
    subscriber_id: str
    expires_at: int | None
    signed: str
    mac: str


def parse_token(text: str) -> Token | None:
    """Returns a token, or None if the text does not have the format."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        return None
    purpose = Purpose.CONFIRM if text.startswith("c") else Purpose.UNSUBSCRIBE
    account_id, subscriber_id, time, mac = [group for group in match.groups() if group is not None]
    expires_at = timestamp_of(time) if time else None
    return Token(purpose, account_id, subscriber_id, expires_at, text[: -len(mac)], mac)


def creation_time(now: int, status_changed_at: int | None) -> int:
    """Returns the creation time of a link that confirms, in milliseconds.

    A change of the status at this time or later ends the link. After a recent change it is one
    millisecond later than now, so that the opt-out before the link does not end it.
    """
    return now + (status_changed_at is not None and status_changed_at > now - _RECENT)


# The links of a page of an export, or of a bulk, expire at the same time.
@lru_cache(16)
def _time_text(milliseconds: int) -> str:
    return first_id_at(milliseconds)[:_TIME_LENGTH]


def masked(email: str) -> str:
    """Returns an address with only its first letters and top-level domain: a***@e***.com."""
    local, _, domain = email.rpartition("@")
    name, _, top = domain.rpartition(".")
    return f"{local[:1]}***@{name[:1]}***.{top}"


class Links:
    """Creates links on the public URL, and checks their tokens."""

    def __init__(self, encryption: Encryption, public_url: str = "") -> None:
        self._encryption = encryption
        self._public_url = public_url

    def set_default_url(self, url: str) -> None:
        """Sets the public URL unless it is set."""
        self._public_url = self._public_url or url

    @property
    def has_url(self) -> bool:
        return bool(self._public_url)

    def confirm_url(
        self, account_id: str, subscriber_id: str, email_key: str, created_at: int
    ) -> str:
        """Returns the link that confirms. Raises PublicUrlNotSet."""
        signed = f"c{account_id}{subscriber_id}{_time_text(created_at + CONFIRM_TIME)}"
        return self._url(f"/c/{signed}", signed, email_key)

    def unsubscribe_url(self, account_id: str, subscriber_id: str, email_key: str) -> str:
        """Returns the link that unsubscribes. Raises PublicUrlNotSet."""
        signed = f"u{account_id}{subscriber_id}"
        return self._url(f"/u/{signed}", signed, email_key)

    def _url(self, path: str, signed: str, email_key: str) -> str:
        if not self._public_url:
            raise PublicUrlNotSet
        return f"{self._public_url}{path}{self._mac(signed, email_key)}"

    def is_authentic(self, token: Token, email_key: str) -> bool:
        """Returns whether the token was created for the address, in constant time."""
        return hmac.compare_digest(token.mac, self._mac(token.signed, email_key))

    def _mac(self, signed: str, email_key: str) -> str:
        return self._encryption.digest(_PURPOSE_OF_KEY, signed, email_key)[:_MAC_LENGTH]


def unsubscribe_headers(url: str) -> dict[str, str]:
    """Returns the fields of a mail that offer to unsubscribe (RFC 8058)."""
    return {"List-Unsubscribe": f"<{url}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
