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


class Place(NamedTuple):
    """Where a page begins: so many rows down the list, or below the delivery `after`."""

    limit: int
    offset: int = 0
    after: str | None = None


class Found(NamedTuple):
    """The deliveries of a page, how many the filter matches, and whether more come after these."""

    rows: list[DeliveryRow]
    total: int
    more: bool


def page(account_id: str, webhook_id: str, wanted: Filter, place: Place, tx: Transaction) -> Found:
    """Returns the deliveries of a page, newest first."""
    below = wanted if place.after is None else wanted._replace(end_id=place.after)
    statement, own = _asked(_page, account_id, webhook_id, below)
    # One row more than the page has says whether there are more.
    rows = tx.all(statement, limit=place.limit + 1, offset=place.offset, **own)
    statement, own = _asked(_counting, account_id, webhook_id, wanted)
    total = tx.one(statement, **own)
    found = [DeliveryRow._make(row) for row in rows[: place.limit]]
    return Found(found, int(total[0]) if total else 0, len(rows) > place.limit)


def _asked(
    statement: Callable[[int | None, tuple[str, ...]], Statement],
    account_id: str,
    webhook_id: str,
    wanted: Filter,
) -> tuple[Statement, dict[str, Any]]:
    """Returns the statement for a filter, and its values."""
    given = {name: value for name, value in wanted._asdict().items() if value is not None}
    status = given.pop("status", None)
    own = {"account_id": account_id, "webhook_id": webhook_id, **given}
    return statement(status, tuple(given)), own


@cache
def _page(status: int | None, filters: tuple[str, ...]) -> Statement:
    """Returns the statement for a page that these filters make.

    Where an index tells all that is asked for, the ids of the page are found by it, and
    then the rows: SQLite would rather pass over the deliveries to other webhooks.
    """

    def build(dialect: Dialect) -> ModelSelect[Any]:
        query = Delivery.select(*COLUMNS).order_by(Delivery.id.desc())
        if not _is_told_by_index(status, filters):
            return _cut(_matching(query, status, filters, dialect))
        one = Delivery.alias()
        ids = _cut(_ids(one, status, filters).order_by(one.id.desc()))
        return query.where(_OWN & dialect.within(Delivery.id, ids))

    return Statement(build)


@cache
def _counting(status: int | None, filters: tuple[str, ...]) -> Statement:
    """Returns the statement that counts what these filters match."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        if not _is_told_by_index(status, filters):
            count = Delivery.select(fn.COUNT(Delivery.id))
            return _matching(count, status, filters, dialect)
        one = Delivery.alias()
        return _ids(one, status, filters).select(fn.COUNT(one.id))

    return Statement(build)


def _cut(query: ModelSelect[Any]) -> ModelSelect[Any]:
    return query.limit(param("limit")).offset(param("offset"))


def _is_told_by_index(status: int | None, filters: tuple[str, ...]) -> bool:
    """Whether an index holds all that is asked for."""
    exact = (None, DeliveryStatus.SENDING, DeliveryStatus.FAILED)
    return status in exact and {"event_types", "event_id"}.isdisjoint(filters)


def _matching(
    query: ModelSelect[Any], status: int | None, filters: tuple[str, ...], dialect: Dialect
) -> ModelSelect[Any]:
    """Adds what a delivery has to be. The few of a status or of an event are found first."""
    one = Delivery.alias()
    few = _few(one, status, filters)
    if few is None:
        query = _bounded(_to_webhook(query, Delivery), Delivery, filters)
    else:
        # Bounds come after: within, SQLite would rather find all between them.
        ids = _to_webhook(one.select(one.id), one).where(few)
        query = _bounded(query.where(_OWN & dialect.within(Delivery.id, ids)), Delivery, filters)
    if status is not None:
        query = query.where(Delivery.status == SQL(str(int(status))))
    if "event_types" in filters:
        query = query.where(dialect.any_of(Delivery.kind, "event_types"))
    return query


def _ids(one: Any, status: int | None, filters: tuple[str, ...]) -> ModelSelect[Any]:
    """Selects by an index the ids of those that may match, under another name of the table."""
    query = _bounded(_to_webhook(one.select(one.id), one), one, filters)
    few = _few(one, status, filters)
    return query if few is None else query.where(few)


def _to_webhook(query: ModelSelect[Any], one: Any) -> ModelSelect[Any]:
    return query.where(
        (one.account_id == param("account_id")) & (one.webhook_id == param("webhook_id"))
    )


def _bounded(query: ModelSelect[Any], one: Any, filters: tuple[str, ...]) -> ModelSelect[Any]:
    """Adds between which ids a delivery has to be."""
    if "first_id" in filters:
        query = query.where(one.id >= param("first_id"))
    return query.where(one.id < param("end_id")) if "end_id" in filters else query


def _few(one: Any, status: int | None, filters: tuple[str, ...]) -> Any:
    """Returns a condition by which an index finds what may match, or None if none does."""
    if "event_id" in filters:
        event = Event.select(Event.sequence).where(
            (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
        )
        return one.sequence == event
    if status == DeliveryStatus.PENDING:
        return one.due_at.is_null(False)
    if status in (DeliveryStatus.SENDING, DeliveryStatus.FAILED):
        return one.status == (SENDING if status == DeliveryStatus.SENDING else FAILED)
    return None
