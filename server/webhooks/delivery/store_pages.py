"""Pages of the deliveries to a webhook, by what a list asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from peewee import SQL, ModelSelect, fn

from ...events.models import Event
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ..models import FAILED, SENDING, Delivery
from ..rules import DeliveryStatus
from .store_deliveries import COLUMNS, DeliveryRow

_OWN = Delivery.account_id == param("account_id")


class Filter(NamedTuple):
    """What a delivery has to be to be on the list; None asks for nothing.

    `first_id` is the least id on the list, `end_id` the least one beyond it.
    """

    status: int | None = None
    event_types: Sequence[str] | None = None
    event_id: str | None = None
    first_id: str | None = None
    end_id: str | None = None


class PagePosition(NamedTuple):
    """Where a page begins: so many rows down the list, or below the delivery `after`."""

    limit: int
    offset: int = 0
    after: str | None = None


class DeliveryPage(NamedTuple):
    """The deliveries of a page, how many the filter matches, and whether more come after these."""

    rows: list[DeliveryRow]
    total: int
    more: bool


def page(
    account_id: str, webhook_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> DeliveryPage:
    """Returns the deliveries of a page, newest first."""
    below = filters if position.after is None else filters._replace(end_id=position.after)
    statement, own = _statement_for(_page, account_id, webhook_id, below)
    # One row more than the page has says whether there are more.
    rows = tx.all(statement, limit=position.limit + 1, offset=position.offset, **own)
    statement, own = _statement_for(_counting, account_id, webhook_id, filters)
    total = tx.one(statement, **own)
    found = [DeliveryRow._make(row) for row in rows[: position.limit]]
    return DeliveryPage(found, int(total[0]) if total else 0, len(rows) > position.limit)


def _statement_for(
    statement: Callable[[int | None, tuple[str, ...]], Statement],
    account_id: str,
    webhook_id: str,
    filters: Filter,
) -> tuple[Statement, dict[str, Any]]:
    """Returns the statement for a filter, and its values."""
    given = {name: value for name, value in filters._asdict().items() if value is not None}
    status = given.pop("status", None)
    own = {"account_id": account_id, "webhook_id": webhook_id, **given}
    return statement(status, tuple(given)), own


@cache
def _page(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement for a page that these filters make.

    Where an index tells all that is asked for, the ids of the page are found by it, and
    then the rows: SQLite would rather pass over the deliveries to other webhooks.
    """

    def build(dialect: Dialect) -> ModelSelect[Any]:
        query = Delivery.select(*COLUMNS).order_by(Delivery.id.desc())
        if not _is_covered_by_index(status, names):
            return _limited(_matching(query, status, names, dialect))
        one = Delivery.alias()
        ids = _limited(_ids(one, status, names).order_by(one.id.desc()))
        return query.where(_OWN & dialect.within(Delivery.id, ids))

    return Statement(build)


@cache
def _counting(status: int | None, names: tuple[str, ...]) -> Statement:
    """Returns the statement that counts what these filters match."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        if not _is_covered_by_index(status, names):
            count = Delivery.select(fn.COUNT(Delivery.id))
            return _matching(count, status, names, dialect)
        one = Delivery.alias()
        return _ids(one, status, names).select(fn.COUNT(one.id))

    return Statement(build)


def _limited(query: ModelSelect[Any]) -> ModelSelect[Any]:
    return query.limit(param("limit")).offset(param("offset"))


def _is_covered_by_index(status: int | None, names: tuple[str, ...]) -> bool:
    """Whether an index holds all that is asked for."""
    exact = (None, DeliveryStatus.SENDING, DeliveryStatus.FAILED)
    return status in exact and {"event_types", "event_id"}.isdisjoint(names)


def _matching(
    query: ModelSelect[Any], status: int | None, names: tuple[str, ...], dialect: Dialect
) -> ModelSelect[Any]:
    """Adds what a delivery has to be. The few of a status or of an event are found first."""
    one = Delivery.alias()
    condition = _selective_condition(one, status, names)
    if condition is None:
        query = _bounded(_to_webhook(query, Delivery), Delivery, names)
    else:
        # Bounds come after: within, SQLite would rather find all between them.
        ids = _to_webhook(one.select(one.id), one).where(condition)
        query = _bounded(query.where(_OWN & dialect.within(Delivery.id, ids)), Delivery, names)
    if status is not None:
        query = query.where(Delivery.status == SQL(str(int(status))))
    if "event_types" in names:
        query = query.where(dialect.any_of(Delivery.kind, "event_types"))
    return query


def _ids(one: Any, status: int | None, names: tuple[str, ...]) -> ModelSelect[Any]:
    """Selects by an index the ids of those that may match, under another name of the table."""
    query = _bounded(_to_webhook(one.select(one.id), one), one, names)
    condition = _selective_condition(one, status, names)
    return query if condition is None else query.where(condition)


def _to_webhook(query: ModelSelect[Any], one: Any) -> ModelSelect[Any]:
    return query.where(
        (one.account_id == param("account_id")) & (one.webhook_id == param("webhook_id"))
    )


def _bounded(query: ModelSelect[Any], one: Any, names: tuple[str, ...]) -> ModelSelect[Any]:
    """Adds between which ids a delivery has to be."""
    if "first_id" in names:
        query = query.where(one.id >= param("first_id"))
    return query.where(one.id < param("end_id")) if "end_id" in names else query


def _selective_condition(one: Any, status: int | None, names: tuple[str, ...]) -> Any:
    """Returns a condition by which an index finds what may match, or None if none does."""
    if "event_id" in names:
        event = Event.select(Event.sequence).where(
            (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
        )
        return one.sequence == event
    if status == DeliveryStatus.PENDING:
        return one.due_at.is_null(False)
    if status in (DeliveryStatus.SENDING, DeliveryStatus.FAILED):
        return one.status == (SENDING if status == DeliveryStatus.SENDING else FAILED)
    return None
