"""Reads pages of the deliveries to a webhook, with filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from peewee import SQL, ModelSelect, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ...events.models import Event
from ..models import FAILED, SENDING, Delivery
from ..rules import DeliveryStatus
from .store_conditions import IN_ACCOUNT
from .store_deliveries import COLUMNS, DeliveryRow


class Filter(NamedTuple):
    """The deliveries to list; None matches all. Ids are at least `first_id`, less than `end_id`."""

    status: int | None = None
    event_types: Sequence[str] | None = None
    event_id: str | None = None
    first_id: str | None = None
    end_id: str | None = None


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
    """Returns the deliveries of a page, newest first."""
    below = filters if position.after is None else filters._replace(end_id=position.after)
    statement, values = _statement_for(_page, account_id, webhook_id, below)
    # One row more than the page shows whether more follow.
    rows = tx.all(statement, limit=position.limit + 1, offset=position.offset, **values)
    statement, values = _statement_for(_count, account_id, webhook_id, filters)
    deliveries = [DeliveryRow._make(row) for row in rows[: position.limit]]
    return DeliveryPage(deliveries, tx.scalar(statement, **values), len(rows) > position.limit)


def _statement_for(
    build: Callable[[int | None, tuple[str, ...]], Statement],
    account_id: str,
    webhook_id: str,
    filters: Filter,
) -> tuple[Statement, dict[str, Any]]:
    """Returns the statement for a filter, and its values."""
    values = {name: value for name, value in filters._asdict().items() if value is not None}
    status = values.pop("status", None)
    statement = build(status, tuple(values))
    return statement, {"account_id": account_id, "webhook_id": webhook_id, **values}


@cache
def _page(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement for a page with these filters.

    If an index covers the filters, a subquery finds the IDs of the page. Otherwise SQLite reads
    deliveries to other webhooks too.
    """

    def build(dialect: Dialect) -> ModelSelect[Any]:
        query = Delivery.select(*COLUMNS).order_by(Delivery.id.desc())
        if not _is_covered_by_index(status, names):
            return _limited(_matching(query, status, names, dialect))
        table = Delivery.alias()
        ids = _limited(_ids(table, status, names).order_by(table.id.desc()))
        return query.where(IN_ACCOUNT & dialect.within(Delivery.id, ids))

    return Statement(build)


@cache
def _count(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement that counts the matches of these filters."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        if not _is_covered_by_index(status, names):
            query = Delivery.select(fn.COUNT(Delivery.id))
            return _matching(query, status, names, dialect)
        table = Delivery.alias()
        return _ids(table, status, names).select(fn.COUNT(table.id))

    return Statement(build)


def _limited(query: ModelSelect[Any]) -> ModelSelect[Any]:
    return query.limit(param("limit")).offset(param("offset"))


def _is_covered_by_index(status: int | None, names: tuple[str, ...]) -> bool:
    """Whether an index contains exactly the matches of these filters."""
    indexed = (None, DeliveryStatus.SENDING, DeliveryStatus.FAILED)
    return status in indexed and {"event_types", "event_id"}.isdisjoint(names)


def _matching(
    query: ModelSelect[Any], status: int | None, names: tuple[str, ...], dialect: Dialect
) -> ModelSelect[Any]:
    """Adds the filters. A subquery finds the few deliveries of a status or an event first."""
    table = Delivery.alias()
    condition = _selective_condition(table, status, names)
    if condition is None:
        query = _bounded(_to_webhook(query, Delivery), Delivery, names)
    else:
        # With bounds in the subquery, SQLite would read all deliveries between them.
        ids = _to_webhook(table.select(table.id), table).where(condition)
        query = _bounded(
            query.where(IN_ACCOUNT & dialect.within(Delivery.id, ids)), Delivery, names
        )
    if status is not None:
        query = query.where(Delivery.status == SQL(str(int(status))))
    if "event_types" in names:
        query = query.where(dialect.any_of(Delivery.kind, "event_types"))
    return query


def _ids(table: Any, status: int | None, names: tuple[str, ...]) -> ModelSelect[Any]:
    """Selects the IDs of matches from an alias of the table, by an index."""
    query = _bounded(_to_webhook(table.select(table.id), table), table, names)
    condition = _selective_condition(table, status, names)
    return query if condition is None else query.where(condition)


def _to_webhook(query: ModelSelect[Any], table: Any) -> ModelSelect[Any]:
    return query.where(
        (table.account_id == param("account_id")) & (table.webhook_id == param("webhook_id"))
    )


def _bounded(query: ModelSelect[Any], table: Any, names: tuple[str, ...]) -> ModelSelect[Any]:
    """Adds the bounds of the IDs."""
    if "first_id" in names:
        query = query.where(table.id >= param("first_id"))
    return query.where(table.id < param("end_id")) if "end_id" in names else query


def _selective_condition(table: Any, status: int | None, names: tuple[str, ...]) -> Any:
    """Returns a condition that an index can find few rows by, or None if there is none."""
    if "event_id" in names:
        event = Event.select(Event.sequence).where(
            (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
        )
        return table.sequence == event
    if status == DeliveryStatus.PENDING:
        return table.due_at.is_null(False)
    if status in (DeliveryStatus.SENDING, DeliveryStatus.FAILED):
        return table.status == (SENDING if status == DeliveryStatus.SENDING else FAILED)
    return None
