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
from ..rules import DeliveryState
from .store_deliveries import COLUMNS, DeliveryRow
from .store_queue import IN_ACCOUNT


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
    """Returns the statement for a page with these filters. A subquery finds the IDs of the page."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        ids = _matching(table, status, names, dialect).order_by(table.id.desc())
        ids = ids.limit(param("limit")).offset(param("offset"))
        query = Delivery.select(*COLUMNS).where(IN_ACCOUNT & dialect.within(Delivery.id, ids))
        return query.order_by(Delivery.id.desc())

    return Statement(build)


@cache
def _count(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement that counts the matches of these filters."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        return _matching(table, status, names, dialect).select(fn.COUNT(table.id))

    return Statement(build)


def _matching(
    table: Any, status: int | None, names: tuple[str, ...], dialect: Dialect
) -> ModelSelect[Any]:
    """Selects the IDs of the matches from an alias of the table.

    If an index contains exactly the matches, or no index contains few of the webhook's deliveries,
    the filters are one condition. Otherwise a subquery finds the few deliveries of a status or an
    event first: with the other filters in it, SQLite would read all deliveries of the webhook.
    """
    is_covered = status in (None, DeliveryState.SENDING, DeliveryState.FAILED) and (
        {"event_types", "event_id"}.isdisjoint(names)
    )
    few = Delivery.alias()
    selective = _selective_condition(table if is_covered else few, status, names)
    if is_covered or selective is None:
        condition = _to_webhook(table) if selective is None else _to_webhook(table) & selective
    else:
        ids = few.select(few.id).where(_to_webhook(few) & selective)
        condition = (table.account_id == param("account_id")) & dialect.within(table.id, ids)
    if "first_id" in names:
        condition &= table.id >= param("first_id")
    if "end_id" in names:
        condition &= table.id < param("end_id")
    if status is not None and not is_covered:
        condition &= table.status == SQL(str(int(status)))
    if "event_types" in names:
        condition &= dialect.any_of(table.event_type, "event_types")
    query: ModelSelect[Any] = table.select(table.id).where(condition)
    return query


def _to_webhook(table: Any) -> Any:
    return (table.account_id == param("account_id")) & (table.webhook_id == param("webhook_id"))


def _selective_condition(table: Any, status: int | None, names: tuple[str, ...]) -> Any:
    """Returns a condition that an index can find few rows by, or None if there is none."""
    if "event_id" in names:
        event = Event.select(Event.sequence).where(
            (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
        )
        return table.sequence == event
    if status == DeliveryState.PENDING:
        return table.due_at.is_null(False)
    if status in (DeliveryState.SENDING, DeliveryState.FAILED):
        return table.status == (SENDING if status == DeliveryState.SENDING else FAILED)
    return None
