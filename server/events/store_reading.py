"""Events as they are read: pages of them, in their sequence.

The sequence has no gap, and what is taken away is its beginning. So how many there are
between two places, and where a page of them begins, is known without counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from peewee import ModelSelect, fn

from ..paging import Page
from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from .envelope import PREFIX
from .models import Event
from .store_spans import Span, span


class EventRow(NamedTuple):
    """An event as it is stored; its envelope says all that there is to say."""

    sequence: int
    id: str
    envelope: str


class Filter(NamedTuple):
    """What an event has to be to be on the list; no kinds are all of them.

    Its id lies from `first_id` on and before `end_id`, which are without what ids of events
    begin with; None is no bound.
    """

    after: int = 0
    event_types: Sequence[str] = ()
    first_id: str | None = None
    end_id: str | None = None


_COLUMNS = tuple(getattr(Event, name) for name in EventRow._fields)
_IN_ACCOUNT = Event.account_id == param("account_id")
_BETWEEN = _IN_ACCOUNT & (Event.sequence > param("after")) & (Event.sequence <= param("until"))
_FORWARDS = (Event.account_id, Event.sequence)
_BACKWARDS = (Event.account_id.desc(), Event.sequence.desc())


def _pieces(*order: object) -> ModelSelect[Event]:
    query = Event.select(*_COLUMNS).where(_BETWEEN)
    return query.order_by(*order).limit(param("limit"))


def _pieces_of_kind(dialect: Dialect, *, descending: bool) -> ModelSelect[Event]:
    """Selects a page whose places an index has in order: no envelope beside it is read."""
    one = Event.alias()
    places = (
        one.select(one.sequence)
        .where(
            (one.account_id == param("account_id"))
            & (one.kind == param("kind"))
            & (one.sequence > param("after"))
            & (one.sequence <= param("until"))
        )
        .order_by(one.sequence.desc() if descending else one.sequence)
        .limit(param("limit"))
        .offset(param("offset"))
    )
    query = Event.select(*_COLUMNS).where(_IN_ACCOUNT & dialect.within(Event.sequence, places))
    return query.order_by(*(_BACKWARDS if descending else _FORWARDS))


def _pieces_of_kinds(dialect: Dialect, *order: object) -> ModelSelect[Event]:
    query = _pieces(*order).where(dialect.any_of(Event.kind, "event_types"))
    return query.offset(param("offset"))


_FIRST = Statement(
    lambda _: Event.select(*_COLUMNS).where(_IN_ACCOUNT).order_by(*_FORWARDS).limit(param("limit"))
)
_LAST = Statement(
    lambda _: Event.select(*_COLUMNS).where(_IN_ACCOUNT).order_by(*_BACKWARDS).limit(param("limit"))
)
_PAGE = Statement(lambda _: _pieces(*_FORWARDS))
_PAGE_BACKWARDS = Statement(lambda _: _pieces(*_BACKWARDS))
_PAGE_OF_KIND = Statement(lambda dialect: _pieces_of_kind(dialect, descending=False))
_PAGE_OF_KIND_BACKWARDS = Statement(lambda dialect: _pieces_of_kind(dialect, descending=True))
_PAGE_OF_KINDS = Statement(lambda dialect: _pieces_of_kinds(dialect, *_FORWARDS))
_PAGE_OF_KINDS_BACKWARDS = Statement(lambda dialect: _pieces_of_kinds(dialect, *_BACKWARDS))
_NEWEST = Statement(lambda _: Event.select(fn.MAX(Event.id)).where(_IN_ACCOUNT))
_COUNT_OF_KINDS = Statement(
    lambda dialect: Event.select(fn.COUNT(Event.sequence)).where(
        _BETWEEN & dialect.any_of(Event.kind, "event_types")
    )
)


def newest_id(account_id: str, tx: Transaction) -> str | None:
    """Returns the greatest of the ids of an account's events, without what they begin with."""
    row = tx.one(_NEWEST, account_id=account_id)
    return row[0].removeprefix(PREFIX) if row and row[0] else None


def last(account_id: str, tx: Transaction) -> EventRow:
    """Returns the event of an account that was recorded last. Raises LookupError without one."""
    row = tx.one(_LAST, account_id=account_id, limit=1)
    if row is None:
        raise LookupError(f"account {account_id} has no events")
    return EventRow._make(row)


def page(
    account_id: str, wanted: Filter, page: Page, tx: Transaction, *, descending: bool
) -> tuple[list[EventRow], int]:
    """Returns the events of a page, and how many the filter matches. Six statements at most."""
    between = _stretch(account_id, wanted, tx)
    if wanted.event_types:
        return _page_of_kinds(
            account_id, wanted.event_types, between, page, tx, descending=descending
        )
    total = max(between.until - between.after, 0)
    statement = _PAGE_BACKWARDS if descending else _PAGE
    after = between.after + (0 if descending else page.offset)
    until = between.until - (page.offset if descending else 0)
    rows = tx.all(statement, account_id=account_id, after=after, until=until, limit=page.limit)
    return [EventRow._make(row) for row in rows], total


def _page_of_kinds(
    account_id: str,
    event_types: Sequence[str],
    between: Span,
    page: Page,
    tx: Transaction,
    *,
    descending: bool,
) -> tuple[list[EventRow], int]:
    values = {"account_id": account_id, **between._asdict()}
    piece = {"limit": page.limit, "offset": page.offset, **values}
    if len(event_types) == 1:
        statement = _PAGE_OF_KIND_BACKWARDS if descending else _PAGE_OF_KIND
        rows = tx.all(statement, kind=event_types[0], **piece)
    else:
        statement = _PAGE_OF_KINDS_BACKWARDS if descending else _PAGE_OF_KINDS
        rows = tx.all(statement, event_types=event_types, **piece)
    total = tx.one(_COUNT_OF_KINDS, event_types=event_types, **values)
    return [EventRow._make(row) for row in rows], int(total[0]) if total else 0


def _stretch(account_id: str, wanted: Filter, tx: Transaction) -> Span:
    """Returns the part of the sequence that a filter leaves, whatever the kinds are."""
    first = tx.one(_FIRST, account_id=account_id, limit=1)
    if first is None:
        return Span(0, 0)
    after, until = max(wanted.after, first[0] - 1), last(account_id, tx).sequence
    if wanted.first_id is None and wanted.end_id is None:
        return Span(after, until)
    moments = span(account_id, wanted.first_id or "", wanted.end_id, tx)
    if wanted.first_id is not None:
        after = max(after, moments.after)
    # Ids of several processes may lie a little apart: without an end the last one counts.
    if wanted.end_id is not None or moments == Span(0, 0):
        until = min(until, moments.until)
    return Span(after, until)
