"""Stores and reads the history of subscribers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from peewee import SQL, Case, fn

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.actors import Actor
from ...values.emails import text_key
from ...values.ids import is_id, timestamp_of
from ..accounts.store_keys import actors_by_id
from .fields import Status
from .history import (
    Entry,
    EntryType,
    Source,
    actor_of,
    statuses,
    stored_actor,
)
from .models import Subscriber, SubscriberHistory
from .store_reading import ONE, Reference, find

_OF_ONE = (SubscriberHistory.account_id == param("account_id")) & (
    SubscriberHistory.subscriber_id == param("subscriber_id")
)
# The columns of `Entry`, between its actor and its operation.
COLUMNS = (
    SubscriberHistory.actor,
    *[getattr(SubscriberHistory, name) for name in Entry._fields],
    SubscriberHistory.operation_id,
)
# The types of changes that an operation can make.
CHANGES = (EntryType.FIELDS_CHANGED, EntryType.TAGS_CHANGED, EntryType.STATUS_CHANGED)
# Greater than every ID.
END = "~"

_ADD = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberHistory.account_id,
        (SubscriberHistory.subscriber_id, SubscriberHistory.id, *COLUMNS),
        "rows",
    ),
    has_one_plan=True,
)


def add_history(
    account_id: str, entries_by_id: Iterable[tuple[str, Iterable[Entry]]], tx: Transaction
) -> None:
    """Adds entries to the histories of subscribers, given with their IDs. One statement."""
    all_entries = [
        (subscriber_id, entry) for subscriber_id, entries in entries_by_id for entry in entries
    ]
    if all_entries:
        ids, actor = tx.new_ids(len(all_entries)), stored_actor(tx.actor)
        operation_id = tx.operation_id or None
        rows = [
            (each, id_, actor, *entry, operation_id)
            for id_, (each, entry) in zip(ids, all_entries, strict=True)
        ]
        tx.run(_ADD, account_id=account_id, rows=rows)


_PAGE = Statement(
    lambda _: (
        SubscriberHistory.select(SubscriberHistory.id, *COLUMNS)
        .where(_OF_ONE & (SubscriberHistory.id < param("before")))
        .order_by(SubscriberHistory.id.desc())
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_LAST_OF_TYPES = Statement(
    lambda dialect: (
        SubscriberHistory.select(SubscriberHistory.id, *COLUMNS)
        .where(_OF_ONE & dialect.any_of(SubscriberHistory.type, "types"))
        .order_by(SubscriberHistory.id.desc())
        .limit(SQL("1"))
    ),
    has_one_plan=True,
)
_LAST_CHANGE_IS = Statement(
    lambda dialect: (
        SubscriberHistory.select(SubscriberHistory.subscriber_id)
        .where(
            (SubscriberHistory.account_id == param("account_id"))
            & dialect.any_of(SubscriberHistory.subscriber_id, "ids")
            & (SubscriberHistory.type == param("type"))
        )
        .group_by(SubscriberHistory.subscriber_id)
        .having(
            fn.MAX(SubscriberHistory.id)
            == fn.MAX(
                Case(
                    None,
                    [
                        (
                            SubscriberHistory.changes.between(param("first"), param("last")),
                            SubscriberHistory.id,
                        )
                    ],
                )
            )
        )
    ),
    has_one_plan=True,
)
# The JSON starts with the email address if it changed. In ASCII, ; follows the colon.
_CHANGES_OF_EMAIL = Statement(
    lambda _: (
        SubscriberHistory.select(SubscriberHistory.changes)
        .where(
            _OF_ONE
            & (SubscriberHistory.type == param("type"))
            & (SubscriberHistory.changes >= SQL("""'{"email":'"""))
            & (SubscriberHistory.changes < SQL("""'{"email";'"""))
        )
        .order_by(SubscriberHistory.id.desc())
    ),
    has_one_plan=True,
)
_OF_MANY = Statement(
    lambda dialect: (
        SubscriberHistory.select(SubscriberHistory.subscriber_id, SubscriberHistory.id, *COLUMNS)
        .where(
            (SubscriberHistory.account_id == param("account_id"))
            & dialect.any_of(SubscriberHistory.subscriber_id, "ids")
            & dialect.any_of(SubscriberHistory.type, "types")
            & (SubscriberHistory.id > param("after"))
        )
        .order_by(SubscriberHistory.subscriber_id, SubscriberHistory.id)
    ),
    has_one_plan=True,
)
_ORIGINS = Statement(
    lambda dialect: Subscriber.select(Subscriber.id, Subscriber.origin).where(
        (Subscriber.account_id == param("account_id")) & dialect.any_of(Subscriber.id, "ids")
    ),
    has_one_plan=True,
)


_COUNT = Statement(
    lambda _: SubscriberHistory.select(fn.COUNT(SQL("1"))).where(_OF_ONE), has_one_plan=True
)
_ORIGIN = Statement(lambda _: Subscriber.select(Subscriber.origin).where(ONE), has_one_plan=True)


class HistoryEntry(NamedTuple):
    """A stored entry; `changes` is parsed. `page` adds the types and names of actors."""

    id: str
    type: EntryType
    at: int
    source: Source
    stored_actor: str
    changes: dict[str, Any]
    operation_id: str = ""
    actor: Actor | None = None


class Person(NamedTuple):
    """The ID of a subscriber, and the current and earlier addresses, by `text_key`."""

    id: str
    addresses: set[str]


class HistoryPosition(NamedTuple):
    """The start of a page: after `offset` entries, or before the ID `before`."""

    limit: int
    offset: int = 0
    before: str = END


class HistoryPage(NamedTuple):
    """The entries of a page, their total number, and whether more pages follow."""

    entries: list[HistoryEntry]
    total: int
    more: bool


def page(
    account_id: str, subscriber_id: str, position: HistoryPosition, tx: Transaction
) -> HistoryPage:
    """Returns a page of the history of a stored subscriber, newest first.

    Four statements at most.
    """
    of_one = {"account_id": account_id, "subscriber_id": subscriber_id}
    origin = _origin(account_id, subscriber_id, tx)
    total = tx.scalar(_COUNT, **of_one) + (origin is not None)
    limit, offset, before = position
    if before == subscriber_id:  # The creation is the last entry.
        return HistoryPage([], total, more=False)
    rows = tx.all(_PAGE, **of_one, before=before, limit=limit + 1, offset=offset)
    found = [_entry(*row) for row in rows]
    if origin is not None and len(found) <= limit and offset < total:
        found.append(origin)
    return HistoryPage(_with_actors(account_id, found[:limit], tx), total, len(found) > limit)


def count(account_id: str, subscriber_id: str, tx: Transaction) -> int:
    """Returns the number of entries of a stored subscriber."""
    entries = tx.scalar(_COUNT, account_id=account_id, subscriber_id=subscriber_id)
    return int(entries) + (_origin(account_id, subscriber_id, tx) is not None)


def _with_actors(
    account_id: str, entries: Sequence[HistoryEntry], tx: Transaction
) -> list[HistoryEntry]:
    known = actors_by_id(
        account_id, set(filter(is_id, [each.stored_actor for each in entries])), tx
    )
    return [
        each._replace(actor=actor_of(each.stored_actor, each.source, known)) for each in entries
    ]


def last_change(
    account_id: str, subscriber_id: str, types: Sequence[EntryType], tx: Transaction
) -> HistoryEntry | None:
    """Returns the last entry of one of these types, or None."""
    row = tx.one(_LAST_OF_TYPES, account_id=account_id, subscriber_id=subscriber_id, types=types)
    return _entry(*row) if row else None


def last_status(account_id: str, subscriber_id: str, tx: Transaction) -> HistoryEntry | None:
    """Returns the entry that gave a stored subscriber its status, with its actor.

    It is that of the creation if the status has not changed since, and None for a change that an
    earlier version made. Three statements at most.
    """
    found = entries_of_each(account_id, [subscriber_id], (EntryType.STATUS_CHANGED,), tx)
    changes = [
        entry
        for entry in found.get(subscriber_id, ())
        if entry.type is not EntryType.OPT_OUT_REPEATED
    ]
    entry = changes[-1] if changes else _origin(account_id, subscriber_id, tx)
    return _with_actors(account_id, [entry], tx)[0] if entry else None


def opted_out_after_bounce(
    account_id: str, subscriber_ids: Sequence[str], tx: Transaction
) -> Collection[str]:
    """Returns the subscribers whose last change was from BOUNCED to UNSUBSCRIBED."""
    # Ends with a brace, which a comma precedes if the entry has a consent source. In ASCII, the
    # comma is less than the brace.
    changes = orjson.dumps(statuses(Status.BOUNCED, Status.UNSUBSCRIBED)).decode()
    rows = tx.all(
        _LAST_CHANGE_IS,
        account_id=account_id,
        ids=subscriber_ids,
        type=EntryType.STATUS_CHANGED,
        first=f"{changes[:-1]},",
        last=changes,
    )
    return {subscriber_id for (subscriber_id,) in rows}


def entries_of_each(
    account_id: str,
    subscriber_ids: Sequence[str],
    types: Sequence[EntryType],
    tx: Transaction,
    after: str = "",
) -> dict[str, list[HistoryEntry]]:
    """Returns the entries of these types by subscriber, the oldest first. One statement.

    Entries with IDs up to `after` are left out.
    """
    rows = tx.all(_OF_MANY, account_id=account_id, ids=subscriber_ids, types=types, after=after)
    found: dict[str, list[HistoryEntry]] = {}
    for subscriber_id, *row in rows:
        found.setdefault(subscriber_id, []).append(_entry(*row))
    return found


def created_by(
    account_id: str, subscriber_ids: Sequence[str], operation_id: str, tx: Transaction
) -> set[str]:
    """Returns the subscribers that an operation created. One statement."""
    rows = tx.all(_ORIGINS, account_id=account_id, ids=subscriber_ids)
    return {
        id_
        for id_, origin in rows
        if origin and orjson.loads(origin).get("operationId") == operation_id
    }


def earlier_addresses(account_id: str, subscriber_id: str, tx: Transaction) -> list[str]:
    """Returns the addresses that a subscriber had, the newest first. One statement."""
    of_one = {"account_id": account_id, "subscriber_id": subscriber_id}
    rows = tx.all(_CHANGES_OF_EMAIL, **of_one, type=EntryType.FIELDS_CHANGED)
    return [orjson.loads(changes)["email"][0] for (changes,) in rows]


def person_of(account_id: str, reference: Reference, tx: Transaction) -> Person:
    """Returns the ID and the addresses of a subscriber. Raises SubscriberNotFound."""
    row = find(account_id, reference, tx)
    addresses = {row.email, *earlier_addresses(account_id, row.id, tx)}
    return Person(row.id, {text_key(address) for address in addresses})


def _entry(
    id_: str, actor: str, entry_type: str, source: str, text: str, operation_id: str | None
) -> HistoryEntry:
    type_, at, changes = EntryType(entry_type), timestamp_of(id_), orjson.loads(text)
    if "stated" in changes:
        type_ = EntryType.OPT_OUT_REPEATED
    elif not changes and type_ is EntryType.FIELDS_CHANGED:
        is_person = source == Source.SELF_SERVICE
        type_ = EntryType.SIGNED_UP_AGAIN if is_person else EntryType.ADDED_AGAIN
    return HistoryEntry(id_, type_, at, Source(source), actor, changes, operation_id or "")


def _origin(account_id: str, subscriber_id: str, tx: Transaction) -> HistoryEntry | None:
    """Returns the entry of the creation, or None if an earlier version created the subscriber."""
    origin = tx.scalar(_ORIGIN, account_id=account_id, id=subscriber_id)
    if origin is None:
        return None
    entry = orjson.loads(origin)
    source, changes = Source(entry["source"]), {"to": entry["status"]}
    operation_id = entry.get("operationId", "")
    return HistoryEntry(
        subscriber_id, EntryType.CREATED, entry["at"], source, entry["actor"], changes, operation_id
    )
