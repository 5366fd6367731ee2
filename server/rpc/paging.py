"""Parses `limit`, `page` and page tokens of list requests."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

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
    @property
    def page_token(self) -> str: ...


class PageToken(NamedTuple):
    """The start of the next page (AIP-158): the key of the last item before it, and its number.

    `after` is the item's ID, or another text that orders the list, such as its name key. In a list
    by a number, `revision` is that number of the item: a revision, sequence number or time. A token
    is valid only for the same filters and order, so it contains a digest of them (`list_key`).
    `total` is that of the list, if the next page does not count it again.
    """

    after: str
    page: int
    revision: int = 0
    total: int | None = None

    def text(self, list_key: str) -> str:
        """Returns the encoded token for a list with this key."""
        counted = "" if self.total is None else f"-{self.total}"
        plain = f"{_digest(list_key)}{counted}.{self.after}.{self.page}"
        # The two numbers are the end of a key that contains periods.
        if self.revision or "." in self.after:
            plain += f".{self.revision}"
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


class Page(NamedTuple):
    """The page that a response returns; `number` starts at 1.

    A page of the list `list_key` with a token begins after an item, the others by their number.
    """

    number: int
    limit: int
    list_key: str = ""
    token: PageToken | None = None

    @property
    def offset(self) -> int:
        """The number of items before the page, or 0 if it begins after an item."""
        return 0 if self.token else (self.number - 1) * self.limit

    def following(self, after: str, revision: int = 0) -> Page:
        """Returns the next page, after an item with this key."""
        number = self.number + 1
        return self._replace(number=number, token=PageToken(after, number, revision))

    def fields(self, total: int | None, following: Page | None) -> dict[str, Any]:
        """Returns the paging fields of the response; `following` is the next page, if any."""
        token = following.token if following else None
        return {
            "total": total,
            "page": self.number,
            "limit": self.limit,
            "next_page_token": token.text(self.list_key) if token else "",
        }


def page_of(request: ListRequest) -> Page:
    """Returns the requested page. A limit of 0 is the default; the maximum is MAX_LIMIT.

    The validation rules in the protos reject negative numbers. Does not read the page token.
    """
    return Page(request.page or 1, min(request.limit or DEFAULT_LIMIT, MAX_LIMIT))


def page_in(list_key: str, request: ListRequest, *, is_key: Callable[[str], bool] = is_id) -> Page:
    """Returns the requested page of a list, by its number or its token.

    Raises the error of `parse_page_token`.
    """
    page = page_of(request)._replace(list_key=list_key)
    if not request.page_token:
        return page
    token = parse_page_token(request.page_token, list_key, is_key=is_key)
    return page._replace(number=token.page, token=token)


def is_text(after: str) -> bool:
    """Whether PostgreSQL can compare a key that is not an ID."""
    return "\0" not in after


def parse_page_token(
    text: str, list_key: str, *, is_key: Callable[[str], bool] = is_id
) -> PageToken:
    """Returns a token. Raises ValidationError if it is malformed or belongs to another list."""
    try:
        plain = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True).decode()
        head, *parts = plain.split(".")
        digest, _, counted = head.partition("-")
        *names, page, last = parts if len(parts) > 2 else [*parts, "0"]
        after = ".".join(names)
        numbers = (page, last, counted or "0")
        number, revision, total = map(int, numbers) if "".join(numbers).isascii() else (0, 0, 0)
    except (binascii.Error, ValueError):
        digest, after, counted, number, revision, total = "", "", "", 0, 0, 0
    if (
        digest != _digest(list_key)
        or not is_key(after)
        or not 1 < number < 1 << 31
        or not 0 <= revision < 1 << 63
        or not 0 <= total < 1 << 31
    ):
        raise invalid(
            "pageToken",
            "INVALID_VALUE",
            "must be the token of the next page from the previous response, with the same filters"
            " and order",
        )
    return PageToken(after, number, revision, total if counted else None)


def _digest(list_key: str) -> str:
    return hashlib.sha256(list_key.encode()).hexdigest()[:12]
