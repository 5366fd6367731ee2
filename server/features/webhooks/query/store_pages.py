"""Reads pages of the deliveries to webhooks, newest first, with filters.

A page of all webhooks first finds in an index, for each webhook, down to which ID to read. So it
reads few deliveries if all of them match, and about MAX_READ if other filters have to be checked.
`make bench-scale` measures both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....rpc.paging import Page
from ....storage.transaction import Transaction
from ..delivery.store_deliveries import DeliveryRow
from ..endpoints import store_reading as webhooks
from .store_matches import Shape, select_count, select_nth_of_each, select_page

# Deliveries that a page of all webhooks reads, approximately, to check filters that no index has.
MAX_READ = 10_000
_SUCCESSES = range(200, 300)


class Filter(NamedTuple):
    """The deliveries to list; None matches all. IDs are at least `first_id`, less than `end_id`.

    Page tokens contain a digest of its representation, so its names are part of them.
    """

    status: int | None = None
    event_types: Sequence[str] | None = None
    event_id: str | None = None
    first_id: str | None = None
    end_id: str | None = None


class Search(NamedTuple):
    """Filters of deliveries to all webhooks. An attempt of each has the `http_status`."""

    filters: Filter = Filter()
    webhook_id: str | None = None
    subscriber_id: str | None = None
    http_status: int | None = None

    def before(self, end_id: str | None) -> Search:
        """Returns the search for the deliveries before an ID, unless it is None."""
        return self._replace(filters=self.filters._replace(end_id=end_id)) if end_id else self

    def since(self, first_id: str | None) -> Search:
        """Returns the search for the deliveries from an ID on, unless it is None."""
        return self._replace(filters=self.filters._replace(first_id=first_id)) if first_id else self

    def parts(self) -> tuple[Shape, dict[str, Any]]:
        """Returns the filters for a statement, and their values."""
        values = {**self.filters._asdict(), **self._asdict()}
        status, _ = values.pop("status"), values.pop("filters")
        values = {name: value for name, value in values.items() if value is not None}
        shape = Shape(status, tuple(values))
        if "http_status" in values and not (shape.is_of_events or self.http_status in _SUCCESSES):
            values["failed_status"] = values.pop("http_status")
            shape = Shape(status, tuple(values))
        return shape, values


def page(
    account_id: str, webhook_id: str, filters: Filter, page: Page, tx: Transaction
) -> tuple[list[DeliveryRow], int, Page | None]:
    """Returns the deliveries of a page of one webhook, the number of matches, and the next page."""
    search = Search(filters, webhook_id)
    rows, following = _read(account_id, search, page, tx)
    shape, values = search.parts()
    return rows, tx.scalar(select_count(shape), account_id=account_id, **values), following


def page_of_all(
    account_id: str, search: Search, page: Page, tx: Transaction
) -> tuple[list[DeliveryRow], Page | None]:
    """Returns the deliveries of a page, and the next page if there may be one.

    The page can have fewer deliveries than the limit although there is a next one. At most three
    statements.
    """
    bound = _bound(account_id, search, page, tx)
    rows, following = _read(account_id, search.since(bound), page, tx)
    return rows, following or (page.following(bound) if bound else None)


def _bound(account_id: str, search: Search, page: Page, tx: Transaction) -> str | None:
    """Returns the least ID that a page reads, or None if that is limited by the filters only."""
    shape, values = _rest_of(search, page).parts()
    if shape.is_of_events:
        return None
    number = page.offset + page.limit + 1
    # A delivery can have several attempts with the status.
    if shape.in_index() != shape or shape.is_of_failures:
        number = MAX_READ
        if search.webhook_id is None:
            number //= max(webhooks.count(account_id, tx), 1)
    statement = select_nth_of_each(shape.in_index())
    ids = tx.all(statement, account_id=account_id, skipped=number - 1, **values)
    return max((nth for (nth,) in ids if nth is not None), default=None)


def _read(
    account_id: str, search: Search, page: Page, tx: Transaction
) -> tuple[list[DeliveryRow], Page | None]:
    """Returns the deliveries of a page, and the next page if others follow in the search."""
    shape, values = _rest_of(search, page).parts()
    # One delivery more than the page shows whether others follow.
    values |= {"account_id": account_id, "limit": page.limit + 1, "offset": page.offset}
    rows = [DeliveryRow._make(row) for row in tx.all(select_page(shape), **values)]
    if len(rows) <= page.limit:
        return rows, None
    return rows[:-1], page.following(rows[-2].id)


def _rest_of(search: Search, page: Page) -> Search:
    """Returns the search for the deliveries after those of the pages before."""
    return search.before(page.token.after if page.token else None)
