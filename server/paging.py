"""Pages: what `limit`, `page` and a page token of a list request come to."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import NamedTuple, Protocol

from .errors import invalid
from .ids import is_id

DEFAULT_LIMIT = 20
MAX_LIMIT = 100


class ListRequest(Protocol):
    """What every list request has."""

    @property
    def limit(self) -> int: ...
    @property
    def page(self) -> int: ...


class Page(NamedTuple):
    """A page as it is used and echoed: `number` counts from 1."""

    number: int
    limit: int

    @property
    def offset(self) -> int:
        """How many items come before the page."""
        return (self.number - 1) * self.limit


def page_of(request: ListRequest) -> Page:
    """Returns the page that a request asks for: 0 is the default, more than 100 is 100.

    Negative numbers never get here: the bounds in the protos refuse them.
    """
    return Page(request.page or 1, min(request.limit or DEFAULT_LIMIT, MAX_LIMIT))


class PageToken(NamedTuple):
    """Where the next page begins (AIP-158): after an id, as this page of the list.

    It leads to something else than it did if what is asked for changes, so it keeps
    a digest of that. It tells nothing that its holder does not know.
    """

    after: str
    page: int

    def text(self, asked: str) -> str:
        """Returns the token for a list that is asked for in these words."""
        plain = f"{_digest(asked)}.{self.after}.{self.page}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def parse_page_token(text: str, asked: str) -> PageToken:
    """Returns a token. Raises ValidationError if it is none, or is for another list."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode()
        digest, after, page = plain.split(".")
        number = int(page) if page.isascii() else 0
    except (binascii.Error, ValueError):
        digest, after, number = "", "", 0
    if digest != _digest(asked) or not is_id(after) or not 1 < number < 1 << 31:
        raise invalid(
            "pageToken",
            "INVALID_VALUE",
            "must be the nextPageToken of the previous page, with the same filters",
        )
    return PageToken(after, number)


def _digest(asked: str) -> str:
    return hashlib.sha256(asked.encode()).hexdigest()[:12]
