"""Reads pages of events in the order of their sequence.

The sequence has no gaps, and only its oldest events are deleted. The number of events between
two sequence numbers, and the start of a page, are therefore known without counting. The IDs of
events contain timestamps and ascend with the sequence, so a time range is a range of the sequence.
A page after an event begins with the next sequence number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from peewee import ModelSelect, fn

from ...rpc.errors import EventNotFound
from ...rpc.paging import Page
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from .envelope import PREFIX
from .models import Event

# Greater than every ID, which has a digit in this position.
_AFTER_EVERY_ID = f"{PREFIX}Z"


class EventRow(NamedTuple):
    """A stored event; the envelope contains all of its data."""

    sequence: int
    id: str
    envelope: str


class Filter(NamedTuple):
    """The filters of a list. No event types match every type.

    `first_id` is inclusive, `end_id` exclusive. Both have no prefix; None is no bound. Page tokens
    contain a digest of the representation of a filter, so its names are part of them.
    """

    after: int = 0
    event_types: Sequence[str] = ()
    first_id: str | None = None
    end_id: str | None = None


class SequenceRange(NamedTuple):
    """The events with a sequence number greater than `after` and at most `until`."""

    after: int
    until: int


_COLUMNS = tuple(getattr(Event, name) for name in EventRow._fields)
_IN_ACCOUNT = Event.account_id == param("account_id")
_BETWEEN = _IN_ACCOUNT & (Event.sequence > param("after")) & (Event.sequence <= param("until"))
_FORWARDS = (Event.account_id, Event.sequence)
_BACKWARDS = (Event.account_id.desc(), Event.sequence.desc())


def _range_query(*order: object) -> ModelSelect[Event]:
    query = Event.select(*_COLUMNS).where(_BETWEEN)
    return query.order_by(*order).limit(param("limit"))


def _type_query(dialect: Dialect, *, descending: bool) -> ModelSelect[Event]:
    """Selects a page of one event type, found in its index without reading other envelopes."""
    one = Event.alias()
    sequences = (
        one.select(one.sequence)
        .where(
            (one.account_id == param("account_id"))
            & (one.event_type == param("event_type"))
            & (one.sequence > param("after"))
            & (one.sequence <= param("until"))
        )
        .order_by(one.sequence.desc() if descending else one.sequence)
        .limit(param("limit"))
        .offset(param("offset"))
    )
    query = Event.select(*_COLUMNS).where(_IN_ACCOUNT & dialect.within(Event.sequence, sequences))
    return query.order_by(*(_BACKWARDS if descending else _FORWARDS))


def _types_query(dialect: Dialect, *order: object) -> ModelSelect[Event]:
    query = _range_query(*order).where(dialect.any_of(Event.event_type, "event_types"))
    return query.offset(param("offset"))


_FIRST = Statement(
    lambda _: (
        Event.select(Event.sequence).where(_IN_ACCOUNT).order_by(*_FORWARDS).limit(param("limit"))
    )
)
_LAST = Statement(
    lambda _: Event.select(*_COLUMNS).where(_IN_ACCOUNT).order_by(*_BACKWARDS).limit(param("limit"))
)
_FIRST_FROM_ID = Statement(
    lambda _: (
        Event.select(Event.sequence)
        .where(_IN_ACCOUNT & (Event.id >= param("first_id")))
        .order_by(Event.account_id, Event.id)
        .limit(param("limit"))
    )
)
_LAST_BEFORE_ID = Statement(
    lambda _: (
        Event.select(Event.sequence)
        .where(_IN_ACCOUNT & (Event.id < param("end_id")))
        .order_by(Event.account_id.desc(), Event.id.desc())
        .limit(param("limit"))
    )
)
_FIND = Statement(
    lambda _: Event.select(*_COLUMNS).where(_IN_ACCOUNT & (Event.id == param("id"))),
    has_one_plan=True,
)
_PAGE = Statement(lambda _: _range_query(*_FORWARDS))
_PAGE_BACKWARDS = Statement(lambda _: _range_query(*_BACKWARDS))
_PAGE_OF_TYPE = Statement(lambda dialect: _type_query(dialect, descending=False))
_PAGE_OF_TYPE_BACKWARDS = Statement(lambda dialect: _type_query(dialect, descending=True))
_PAGE_OF_TYPES = Statement(lambda dialect: _types_query(dialect, *_FORWARDS))
_PAGE_OF_TYPES_BACKWARDS = Statement(lambda dialect: _types_query(dialect, *_BACKWARDS))
# By the number of event types: none, one, several; ascending and descending.
_PAGES = (
    (_PAGE, _PAGE_BACKWARDS),
    (_PAGE_OF_TYPE, _PAGE_OF_TYPE_BACKWARDS),
    (_PAGE_OF_TYPES, _PAGE_OF_TYPES_BACKWARDS),
)
_NEWEST = Statement(lambda _: Event.select(fn.MAX(Event.id)).where(_IN_ACCOUNT))
_COUNT_OF_TYPES = Statement(
    lambda dialect: Event.select(fn.COUNT(Event.sequence)).where(
        _BETWEEN & dialect.any_of(Event.event_type, "event_types")
    )
)


def newest_id(account_id: str, tx: Transaction) -> str | None:
    """Returns the newest event ID of an account without its prefix, or None."""
    event_id: str | None = tx.scalar(_NEWEST, account_id=account_id)
    return event_id.removeprefix(PREFIX) if event_id else None


def last(account_id: str, tx: Transaction) -> EventRow:
    """Returns the last event of an account. Raises LookupError if there is none."""
    row = tx.one(_LAST, account_id=account_id, limit=1)
    if row is None:
        raise LookupError(f"account {account_id} has no events")
    return EventRow._make(row)


def find(account_id: str, event_id: str, tx: Transaction) -> EventRow:
    """Returns an event. Raises EventNotFound."""
    checked_id(event_id.removeprefix(PREFIX), EventNotFound)
    row = tx.one(_FIND, account_id=account_id, id=event_id)
    if row is None:
        raise EventNotFound
    return EventRow._make(row)


def page(
    account_id: str, filters: Filter, page: Page, tx: Transaction, *, descending: bool
) -> tuple[list[EventRow], int, Page | None]:
    """Returns the events of a page, the number of matches, and the next page if there is one.

    At most six statements.
    """
    bounds = _sequence_range(account_id, filters, tx)
    types = filters.event_types
    # One event more than the page shows whether more follow.
    values = {"account_id": account_id, "limit": page.limit + 1, "offset": page.offset}
    values |= {"event_types": types, "event_type": types[0] if types else ""}
    rest = _rest(bounds, page, descending=descending, skips=not types)
    statement = _PAGES[min(len(types), 2)][descending]
    rows = [EventRow._make(row) for row in tx.all(statement, **values, **rest._asdict())]
    if types:
        total = int(tx.scalar(_COUNT_OF_TYPES, **values, **bounds._asdict()))
    else:
        total = max(bounds.until - bounds.after, 0)
    if len(rows) <= page.limit:
        return rows, total, None
    last = rows[page.limit - 1]
    return rows[:-1], total, page.following(last.id.removeprefix(PREFIX), last.sequence)


def _rest(bounds: SequenceRange, page: Page, *, descending: bool, skips: bool) -> SequenceRange:
    """Returns the events of a range from the start of a page on.

    The events before a page by number are omitted if it `skips` them.
    """
    skipped = page.offset if skips else 0
    if descending:
        until = page.token.revision - 1 if page.token else bounds.until - skipped
        return bounds._replace(until=min(bounds.until, until))
    after = page.token.revision if page.token else bounds.after + skipped
    return bounds._replace(after=max(bounds.after, after))


def _sequence_range(account_id: str, filters: Filter, tx: Transaction) -> SequenceRange:
    """Returns the range of the filters other than event types."""
    first = tx.scalar(_FIRST, account_id=account_id, limit=1)
    if first is None:
        return SequenceRange(0, 0)
    after, until = max(filters.after, first - 1), last(account_id, tx).sequence
    if filters.first_id is None and filters.end_id is None:
        return SequenceRange(after, until)
    id_range = sequence_range(account_id, filters.first_id or "", filters.end_id, tx)
    if filters.first_id is not None:
        after = max(after, id_range.after)
    # The clocks of processes may differ, so a range without an end includes the last event.
    if filters.end_id is not None or id_range == SequenceRange(0, 0):
        until = min(until, id_range.until)
    return SequenceRange(after, until)


def sequence_range(
    account_id: str, first_id: str, end_id: str | None, tx: Transaction
) -> SequenceRange:
    """Returns the events with an ID from `first_id` to before `end_id`. Two statements.

    The IDs have no prefix. Without an end the range includes the last event.
    """
    first = tx.scalar(
        _FIRST_FROM_ID, account_id=account_id, first_id=f"{PREFIX}{first_id}", limit=1
    )
    end = _AFTER_EVERY_ID if end_id is None else f"{PREFIX}{end_id}"
    last = tx.scalar(_LAST_BEFORE_ID, account_id=account_id, end_id=end, limit=1)
    return SequenceRange(first - 1, last) if first and last else SequenceRange(0, 0)
