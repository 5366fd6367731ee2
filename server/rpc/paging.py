"""Parses `limit`, `page` and page tokens of list requests."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import NamedTuple, Protocol

from ..values.ids import is_id
from .errors import invalid

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class ListRequest(Protocol):
    """The paging fields of a list request."""

    @property
    def limit(self) -> int: ...
    @property
    def page(self) -> int: ...


class Page(NamedTuple):
    """The page that a response returns; `number` starts at 1."""

    number: int
    limit: int

    @property
    def offset(self) -> int:
        """The number of items before the page."""
        return (self.number - 1) * self.limit


def page_of(request: ListRequest) -> Page:
    """Returns the requested page. A limit of 0 is the default; the maximum is MAX_LIMIT.

    The validation rules in the protos reject negative numbers.
    """
    return Page(request.page or 1, min(request.limit or DEFAULT_LIMIT, MAX_LIMIT))


class PageToken(NamedTuple):
    """The start of the next page (AIP-158): the last ID before it, and its page number.

    In a list by revision, `revision` is the revision of the last subscriber. A token is valid only
    for the same filters and order, so it contains a digest of them (`list_key`).
    """

    after: str
    page: int
    revision: int = 0

    def text(self, list_key: str) -> str:
        """Returns the encoded token for a list with this key."""
        plain = f"{_digest(list_key)}.{self.after}.{self.page}"
        if self.revision:
            plain += f".{self.revision}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def parse_page_token(text: str, list_key: str) -> PageToken:
    """Returns a token. Raises ValidationError if it is malformed or belongs to another list."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode()
        digest, after, page, *rest = plain.split(".")
        (revision,) = map(int, rest or ["0"])
        number = int(page) if plain.isascii() else 0
    except (binascii.Error, ValueError):
        digest, after, number, revision = "", "", 0, 0
    if (
        digest != _digest(list_key)
        or not is_id(after)
        or not 1 < number < 1 << 31
        or not 0 <= revision < 1 << 63
    ):
        raise invalid(
            "pageToken",
            "INVALID_VALUE",
            "must be the nextPageToken of the previous page, with the same filters",
        )
    return PageToken(after, number, revision)


def _digest(list_key: str) -> str:
    return hashlib.sha256(list_key.encode()).hexdigest()[:12]
