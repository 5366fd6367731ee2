"""Pages: what `limit` and `page` of a list request come to."""

from __future__ import annotations

from typing import NamedTuple, Protocol

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
