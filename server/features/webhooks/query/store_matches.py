"""Builds the statements of pages of deliveries, for the filters of a search.

The deliveries of a webhook are in the order of IDs in several indexes: all of them, those of each
state but SUCCEEDED, and those with a failed attempt, by HTTP status. Deliveries of given events are
found by the sequence numbers of these instead.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from peewee import SQL, Expression, ModelSelect, Node, fn

from ....storage.statements import Dialect, Statement, param
from ...events.models import Event
from ...events.store_subscriber import select_about
from ..delivery.store_deliveries import COLUMNS
from ..delivery.store_queue import IN_ACCOUNT
from ..endpoints import store_reading as webhooks
from ..models import Delivery, DeliveryAttempt, Webhook
from ..rules import DeliveryState

# The states of which an index has the deliveries.
_INDEXED = (DeliveryState.PENDING, DeliveryState.SENDING, DeliveryState.FAILED)
_BY_INDEX = {"webhook_id", "failed_status", "first_id", "end_id"}
_OF_EVENTS = {"event_id", "subscriber_id"}
_EVENT = Event.select(Event.sequence).where(
    (Event.account_id == param("account_id")) & (Event.id == param("event_id"))
)


class Shape(NamedTuple):
    """The filters of a search, whose values are parameters of a statement.

    The state is a constant in SQL, as in the indexes of states. `failed_status` is the HTTP status
    of failed attempts by which an index finds deliveries, and `http_status` one to check.
    """

    status: int | None
    names: tuple[str, ...]

    @property
    def is_of_failures(self) -> bool:
        """Whether the deliveries are found by failed attempts."""
        return "failed_status" in self.names

    @property
    def is_of_events(self) -> bool:
        """Whether the deliveries are those of given events, which are few."""
        return not _OF_EVENTS.isdisjoint(self.names)

    @property
    def is_of_indexed_state(self) -> bool:
        return self.status in _INDEXED

    def in_index(self) -> Shape:
        """Returns the filters whose deliveries are in the order of an index."""
        by_state = self.is_of_indexed_state and not self.is_of_failures
        names = tuple(name for name in self.names if name in _BY_INDEX)
        return Shape(self.status if by_state else None, names)

    def with_status(self, table: Any) -> list[Expression]:
        return [] if self.status is None else [table.status == SQL(str(int(self.status)))]

    def between(self, id_: Any) -> list[Expression]:
        bounds = {"first_id": id_ >= param("first_id"), "end_id": id_ < param("end_id")}
        return [condition for name, condition in bounds.items() if name in self.names]


@cache
def select_page(shape: Shape) -> Statement:
    """Selects the deliveries of a page. A subquery finds their IDs."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        ids = table.select(table.id).where(*_matches(table, shape, dialect))
        ids = ids.order_by(table.id.desc()).limit(param("limit")).offset(param("offset"))
        query = Delivery.select(*COLUMNS).where(IN_ACCOUNT & dialect.within(Delivery.id, ids))
        return query.order_by(Delivery.id.desc())

    return Statement(build)


@cache
def select_count(shape: Shape) -> Statement:
    """Selects the number of matches."""

    def build(dialect: Dialect) -> ModelSelect[Any]:
        table = Delivery.alias()
        return table.select(fn.COUNT(table.id)).where(*_matches(table, shape, dialect))

    return Statement(build)


@cache
def select_nth_of_each(shape: Shape) -> Statement:
    """Skips IDs in the index of each webhook and selects the next one, or null."""

    def build(_: Dialect) -> ModelSelect[Any]:
        few, id_ = _source(shape)
        conditions = [few.account_id == param("account_id"), few.webhook_id == Webhook.id]
        nth = few.select(id_).where(*conditions, *_in_index(few, id_, shape))
        nth = nth.order_by(id_.desc()).limit(SQL("1")).offset(param("skipped"))
        query = Webhook.select(nth).where(webhooks.IN_ACCOUNT)
        is_one = "webhook_id" in shape.names
        return query.where(Webhook.id == param("webhook_id")) if is_one else query

    return Statement(build)


def _matches(table: Any, shape: Shape, dialect: Dialect) -> list[Node]:
    """Returns the conditions on an alias of the deliveries.

    A subquery finds the deliveries in an index. Otherwise SQLite would read all deliveries, because
    these are in the order of the page. Those of one webhook are in this order in an index too.
    """
    rest = _rest(table, shape, dialect)
    is_in_order = "webhook_id" in shape.names and not (shape.is_of_failures or shape.is_of_events)
    if is_in_order and not (rest and shape.is_of_indexed_state):
        return [*_found(table, table.id, shape, dialect), *rest]
    few, id_ = _source(shape)
    ids = few.select(id_).where(*_found(few, id_, shape, dialect))
    return [table.account_id == param("account_id"), dialect.within(table.id, ids), *rest]


def _source(shape: Shape) -> tuple[Any, Any]:
    """Returns an alias of the table whose index finds deliveries, and the column of their IDs."""
    if shape.is_of_failures:
        attempt = DeliveryAttempt.alias()
        return attempt, attempt.delivery_id
    delivery = Delivery.alias()
    return delivery, delivery.id


def _found(few: Any, id_: Any, shape: Shape, dialect: Dialect) -> list[Expression]:
    """Returns the conditions by which an index finds rows."""
    is_of_webhook = few.webhook_id == param("webhook_id")
    if "webhook_id" not in shape.names:
        is_of_webhook = dialect.within(few.webhook_id, webhooks.IDS)
    conditions = [few.account_id == param("account_id"), is_of_webhook]
    if "event_id" in shape.names:
        conditions.append(dialect.within(few.sequence, _EVENT))
    if "subscriber_id" in shape.names:
        conditions.append(dialect.within(few.sequence, select_about()))
    return conditions if shape.is_of_events else [*conditions, *_in_index(few, id_, shape)]


def _in_index(few: Any, id_: Any, shape: Shape) -> list[Expression]:
    """Returns the conditions by which an index in the order of IDs finds rows of a webhook."""
    if shape.is_of_failures:
        # The index contains no other attempts.
        is_failure = [few.http_status == param("failed_status"), few.error != SQL("''")]
        return [*is_failure, *shape.between(id_)]
    return [*shape.with_status(few), *shape.between(id_)]


def _rest(table: Any, shape: Shape, dialect: Dialect) -> list[Node]:
    """Returns the conditions that are checked for each delivery."""
    conditions: list[Node] = []
    if shape.is_of_failures or shape.is_of_events:
        conditions += [*shape.with_status(table), *shape.between(table.id)]
    if "event_types" in shape.names:
        conditions.append(dialect.any_of(table.event_type, "event_types"))
    if "http_status" in shape.names:
        attempt = DeliveryAttempt.alias()
        own = [attempt.account_id == param("account_id"), attempt.delivery_id == table.id]
        own += [attempt.http_status == param("http_status"), *shape.between(attempt.delivery_id)]
        conditions.append(fn.EXISTS(attempt.select(SQL("1")).where(*own)))
    return conditions
