"""Reads pages of the deliveries to webhooks, newest first, with filters.

The deliveries of a webhook are in the order of IDs in several indexes: all of them, those of each
state but SUCCEEDED, and those with a failed attempt, by HTTP status. Deliveries of given events are
found by the sequence numbers of these instead.

A page of all webhooks first finds in one of the indexes, for each webhook, down to which ID to
read. So it reads few deliveries if all of them match, and about MAX_READ if other filters have to
be checked. `make bench-scale` measures both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from peewee import SQL, Expression, ModelSelect, Node, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ...events.models import Event
from ..endpoints import store_reading as webhooks
from ..models import Delivery, DeliveryAttempt, Webhook
from ..rules import DeliveryState
from .store_deliveries import COLUMNS, DeliveryRow
from .store_queue import IN_ACCOUNT

# Deliveries that a page of all webhooks reads, approximately, to check filters that no index has.
MAX_READ = 10_000
_SUCCESSES = range(200, 300)
# The states of which an index has the deliveries.
_OF_FEW_EVENTS = {"event_id", "subscriber_id"}
_OTHER_SOURCES = {"failed_status", *_OF_FEW_EVENTS}
_INDEXED = (DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.FAILED)


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

    @property
    def is_of_few_events(self) -> bool:
        return self.filters.event_id is not None or self.subscriber_id is not None

    @property
    def finds_failures(self) -> bool:
        """Whether the deliveries are found by the failed attempts with the HTTP status."""
        is_failure = self.http_status is not None and self.http_status not in _SUCCESSES
        return is_failure and not self.is_of_few_events

    def between(self, first_id: str | None, end_id: str | None) -> Search:
        """Returns the search with other bounds of IDs, unless they are None."""
        filters = self.filters
        return self._replace(
            filters=filters._replace(
                first_id=first_id or filters.first_id, end_id=end_id or filters.end_id
            )
        )

    def in_index(self) -> Search:
        """Returns the part of the search whose deliveries are in the order of an index."""
        status = self.filters.status if self.filters.status in _INDEXED else None
        filters = Filter(status, first_id=self.filters.first_id, end_id=self.filters.end_id)
        if not self.finds_failures:
            return Search(filters, self.webhook_id)
        return Search(filters._replace(status=None), self.webhook_id, http_status=self.http_status)


class PagePosition(NamedTuple):
    """The start of a page: `offset` rows into the list, or behind the delivery `after`."""

    limit: int
    offset: int = 0
    after: str | None = None


class DeliveryPage(NamedTuple):
    """The deliveries of a page, the number that the filter matches, and whether more follow."""

    rows: list[DeliveryRow]
    total: int
    more: bool


def page(
    account_id: str, webhook_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> DeliveryPage:
    """Returns the deliveries of a page of one webhook, newest first."""
    search = Search(filters, webhook_id)
    rows = _rows(account_id, search.between(None, position.after), position, tx)
    statement, values = _statement_for(_count, account_id, search)
    return DeliveryPage(
        rows[: position.limit], tx.scalar(statement, **values), len(rows) > position.limit
    )


def page_of_all(
    account_id: str, search: Search, position: PagePosition, tx: Transaction
) -> tuple[list[DeliveryRow], str | None]:
    """Returns the deliveries of a page, newest first, and the ID after which the next one begins.

    The page can have fewer deliveries than the limit although there is a next one. At most three
    statements.
    """
    search = search.between(None, position.after)
    bound = _bound(account_id, search, position, tx)
    rows = _rows(account_id, search.between(bound, None), position, tx)
    if len(rows) > position.limit:
        return rows[: position.limit], rows[position.limit - 1].id
    return rows, bound


def _bound(account_id: str, search: Search, position: PagePosition, tx: Transaction) -> str | None:
    """Returns the least ID that a page reads, or None if that is limited by the filters only."""
    if search.is_of_few_events:
        return None
    indexed = search.in_index()
    number = position.offset + position.limit + 1
    # A delivery can have several attempts with the status.
    if indexed != search or search.finds_failures:
        number = (
            MAX_READ if search.webhook_id else MAX_READ // max(webhooks.count(account_id, tx), 1)
        )
    statement, values = _statement_for(_nth_of_each, account_id, indexed)
    ids = tx.all(statement, skipped=number - 1, **values)
    return max((nth for (nth,) in ids if nth is not None), default=None)


def _rows(
    account_id: str, search: Search, position: PagePosition, tx: Transaction
) -> list[DeliveryRow]:
    """Returns the deliveries of a page, and one more if others follow."""
    statement, values = _statement_for(_page, account_id, search)
    rows = tx.all(statement, limit=position.limit + 1, offset=position.offset, **values)
    return [DeliveryRow._make(row) for row in rows]


def _statement_for(
    build: Callable[[int | None, tuple[str, ...]], Statement], account_id: str, search: Search
) -> tuple[Statement, dict[str, Any]]:
    """Returns the statement for a search, and its values."""
    values = {**search.filters._asdict(), **search._asdict()}
    if search.finds_failures:
        values["failed_status"] = values.pop("http_status")
    status, _ = values.pop("status"), values.pop("filters")
    values = {name: value for name, value in values.items() if value is not None}
    return build(status, tuple(values)), {"account_id": account_id, **values}


@cache
def _page(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement for a page with these filters. A subquery finds the IDs of the page."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        ids = table.select(table.id).where(*_matches(table, status, names, dialect))
        ids = ids.order_by(table.id.desc()).limit(param("limit")).offset(param("offset"))
        query = Delivery.select(*COLUMNS).where(IN_ACCOUNT & dialect.within(Delivery.id, ids))
        return query.order_by(Delivery.id.desc())

    return Statement(build)


@cache
def _count(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement that counts the matches of these filters."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        return table.select(fn.COUNT(table.id)).where(*_matches(table, status, names, dialect))

    return Statement(build)


@cache
def _nth_of_each(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement that skips IDs in an index of each webhook and selects the next one."""

    def build(_: Dialect) -> ModelSelect[Any]:
        table: Any = Delivery.alias()
        id_, conditions = table.id, _with_status(table, status)
        if "failed_status" in names:
            table = DeliveryAttempt.alias()
            id_, conditions = table.delivery_id, _failed(table)
        conditions += [table.account_id == param("account_id"), table.webhook_id == Webhook.id]
        nth = table.select(id_).where(*conditions, *_between(id_, names)).order_by(id_.desc())
        nth = nth.limit(SQL("1")).offset(param("skipped"))
        return Webhook.select(nth).where(*_webhooks(names))

    return Statement(build)


def _matches(
    table: Any, status: int | None, names: tuple[str, ...], dialect: Dialect
) -> list[Node]:
    """Returns the conditions on an alias of the deliveries.

    A subquery finds the deliveries in an index. Otherwise SQLite would read all deliveries, because
    these are in the order of the page. Those of one webhook are in this order in an index too.
    """
    rest = _rest(table, status, names, dialect)
    is_in_order = "webhook_id" in names and _OTHER_SOURCES.isdisjoint(names)
    if is_in_order and not (rest and status in _INDEXED):
        return [*_found(table, status, names, dialect), *rest]
    few = DeliveryAttempt.alias() if "failed_status" in names else Delivery.alias()
    id_ = few.delivery_id if "failed_status" in names else few.id
    ids = few.select(id_).where(*_found(few, status, names, dialect))
    return [table.account_id == param("account_id"), dialect.within(table.id, ids), *rest]


def _found(
    table: Any, status: int | None, names: tuple[str, ...], dialect: Dialect
) -> list[Expression]:
    """Returns the conditions by which an index finds rows: attempts by a status of a failure."""
    conditions = _to_webhooks(table, names, dialect)
    if "failed_status" in names:
        return [*conditions, *_failed(table), *_between(table.delivery_id, names)]
    if not _OF_FEW_EVENTS.isdisjoint(names):
        return [*conditions, dialect.within(table.sequence, _sequences(names))]
    return [*conditions, *_with_status(table, status), *_between(table.id, names)]


def _rest(table: Any, status: int | None, names: tuple[str, ...], dialect: Dialect) -> list[Node]:
    """Returns the other conditions."""
    conditions: list[Node] = []
    if not _OTHER_SOURCES.isdisjoint(names):
        conditions += [*_with_status(table, status), *_between(table.id, names)]
    if "event_types" in names:
        conditions.append(dialect.any_of(table.event_type, "event_types"))
    if "http_status" in names:
        attempt = DeliveryAttempt.alias()
        own = [attempt.account_id == param("account_id"), attempt.delivery_id == table.id]
        own += [attempt.http_status == param("http_status"), *_between(attempt.delivery_id, names)]
        conditions.append(fn.EXISTS(attempt.select(SQL("1")).where(*own)))
    return conditions


def _webhooks(names: tuple[str, ...]) -> list[Expression]:
    conditions = [Webhook.account_id == param("account_id")]
    return [*conditions, Webhook.id == param("webhook_id")] if "webhook_id" in names else conditions


def _to_webhooks(table: Any, names: tuple[str, ...], dialect: Dialect) -> list[Expression]:
    """Returns the conditions that rows belong to the given webhook, or to any that exists."""
    is_to_one = table.webhook_id == param("webhook_id")
    any_of_account = Webhook.select(Webhook.id).where(*_webhooks(names))
    return [
        table.account_id == param("account_id"),
        is_to_one if "webhook_id" in names else dialect.within(table.webhook_id, any_of_account),
    ]


def _with_status(table: Any, status: int | None) -> list[Expression]:
    """Returns the condition on the state: a constant, as in the indexes of states."""
    return [] if status is None else [table.status == SQL(str(int(status)))]


def _failed(attempt: Any) -> list[Expression]:
    return [attempt.http_status == param("failed_status"), attempt.error != SQL("''")]


def _between(id_: Any, names: tuple[str, ...]) -> list[Expression]:
    bounds = {"first_id": id_ >= param("first_id"), "end_id": id_ < param("end_id")}
    return [condition for name, condition in bounds.items() if name in names]


def _sequences(names: tuple[str, ...]) -> ModelSelect[Any]:
    """Selects the sequence numbers of the event, or of those about the subscriber."""
    conditions = [Event.account_id == param("account_id")]
    if "event_id" in names:
        conditions.append(Event.id == param("event_id"))
    if "subscriber_id" in names:
        # The index of subscribers contains no other events.
        conditions.append(Event.subscriber_id.is_null(False))
        conditions.append(Event.subscriber_id == param("subscriber_id"))
    return Event.select(Event.sequence).where(*conditions)
