"""Pages of the deliveries to a webhook, by what a list asks for."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from peewee import SQL, Expression, ModelSelect, fn

from ..events.models import Event
from ..paging import Page
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from .models import FAILED, SENDING, Delivery
from .rules import DeliveryStatus
from .store_deliveries import COLUMNS, DeliveryRow

_OWN = Delivery.account_id == param("account_id")


class Filter(NamedTuple):
    """What a delivery has to be to be on the list; None asks for nothing.

    `first_id` is the least id on the list, `end_id` the least one beyond it.
    """

    status: int | None = None
    kind: str | None = None
    event_id: str | None = None
    first_id: str | None = None
    end_id: str | None = None


def page(
    account_id: str, webhook_id: str, wanted: Filter, page: Page, tx: Transaction
) -> tuple[list[DeliveryRow], int]:
    """Returns the deliveries of a page, newest first, and how many the filter matches."""
    given = {name: value for name, value in wanted._asdict().items() if value is not None}
    status, filters = given.pop("status", None), tuple(given)
    own = {"account_id": account_id, "webhook_id": webhook_id, **given}
    rows = tx.all(_page(status, filters), limit=page.limit, offset=page.offset, **own)
    total = tx.one(_counting(status, filters), **own)
    return [DeliveryRow._make(row) for row in rows], int(total[0]) if total else 0


@cache
def _page(status: int | None, filters: tuple[str, ...]) -> Statement:
    """Returns the statement for a page that these filters make."""
    return Statement(
        lambda dialect: (
            _matching(Delivery.select(*COLUMNS), status, filters, dialect)
            .order_by(Delivery.id.desc())
            .limit(param("limit"))
            .offset(param("offset"))
        )
    )


@cache
def _counting(status: int | None, filters: tuple[str, ...]) -> Statement:
    """Returns the statement that counts what these filters match."""
    return Statement(
        lambda dialect: _matching(Delivery.select(fn.COUNT(Delivery.id)), status, filters, dialect)
    )


def _matching(
    query: ModelSelect[Any], status: int | None, filters: tuple[str, ...], dialect: Dialect
) -> ModelSelect[Any]:
    """Adds what a delivery has to be.

    Where an index knows the few of a status or of an event, they are found first: SQLite
    would rather read all deliveries in order.
    """
    few = _few(status, filters)
    if few is None:
        query = _bounded(query, filters, Delivery)
    else:
        one, condition = few
        ids = _bounded(one.select(one.id).where(condition), filters, one)
        query = query.where(_OWN & dialect.within(Delivery.id, ids))
    if status is not None:
        query = query.where(Delivery.status == SQL(str(int(status))))
    if "kind" in filters:
        query = query.where(Delivery.kind == param("kind"))
    return query


def _bounded(query: ModelSelect[Any], filters: tuple[str, ...], one: Any) -> ModelSelect[Any]:
    """Adds whose delivery it has to be, and between which ids."""
    query = query.where(
        (one.account_id == param("account_id")) & (one.webhook_id == param("webhook_id"))
    )
    if "first_id" in filters:
        query = query.where(one.id >= param("first_id"))
    return query.where(one.id < param("end_id")) if "end_id" in filters else query


def _few(status: int | None, filters: tuple[str, ...]) -> tuple[Any, Expression] | None:
    """Returns a condition by which an index finds what may match, or None if none does."""
    one = Delivery.alias()
    if "event_id" in filters:
        event = Event.select(Event.sequence).where(
            (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
        )
        return one, one.sequence == event
    if status == DeliveryStatus.PENDING:
        return one, one.due_at.is_null(False)
    if status in (DeliveryStatus.SENDING, DeliveryStatus.FAILED):
        return one, one.status == (SENDING if status == DeliveryStatus.SENDING else FAILED)
    return None
