"""Stores and reads the history of subscribers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import orjson
from peewee import SQL, Case, fn

from ...security.links import UNDO_TIME
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.actors import Actor
from ...values.emails import text_key
from ...values.ids import is_id, timestamp_of
from ..accounts.store_keys import actors_by_id
from .fields import Status, SubscriberRow
from .history import (
    Entry,
    EntryType,
    Source,
    actor_of,
    added_again,
    opt_out_repeated,
    statuses,
    stored_actor,
)
from .models import Subscriber, SubscriberHistory
from .rules import OPTED_OUT
from .store_reading import ONE, Reference, find
from .store_revisions import last_revision

_OF_ONE = (SubscriberHistory.account_id == param("account_id")) & (
    SubscriberHistory.subscriber_id == param("subscriber_id")
)
# The columns of `Entry`, between its actor and its operation.
_ENTRY = (
    SubscriberHistory.actor,
    *[getattr(SubscriberHistory, name) for name in Entry._fields],
    SubscriberHistory.operation_id,
)
# Greater than every ID.
END = "~"

_ADD = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberHistory.account_id,
        (SubscriberHistory.subscriber_id, SubscriberHistory.id, *_ENTRY),
        "rows",
    ),
    has_one_plan=True,
)


# An import can be undone for 24 hours after its end, and takes less than 24 hours.
_UNDOABLE_MILLISECONDS = 48 * 3600 * 1000
# The types of changes that an operation can make.
CHANGES = (EntryType.FIELDS_CHANGED, EntryType.TAGS_CHANGED, EntryType.STATUS_CHANGED)


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
        SubscriberHistory.select(SubscriberHistory.id, *_ENTRY)
        .where(_OF_ONE & (SubscriberHistory.id < param("before")))
        .order_by(SubscriberHistory.id.desc())
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_LAST_OF_TYPES = Statement(
    lambda dialect: (
        SubscriberHistory.select(SubscriberHistory.id, *_ENTRY)
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
        SubscriberHistory.select(SubscriberHistory.subscriber_id, SubscriberHistory.id, *_ENTRY)
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


def _is_in_origin(text: Any) -> Any:
    return fn.REPLACE(Subscriber.origin, text, SQL("''")) != Subscriber.origin


# Entries of different subscribers can have the same ID.
_ADD_AGAIN = Statement(
    lambda dialect: SubscriberHistory.insert_from(
        Subscriber.select(
            Subscriber.account_id,
            Subscriber.id,
            *[param(name) for name in ("entry_id", "actor", *Entry._fields, "operation_id")],
        ).where(
            (Subscriber.account_id == param("account_id"))
            & dialect.any_of(Subscriber.id, "ids")
            & (Subscriber.inserted_revision > param("since"))
            & _is_in_origin(SQL("""'"operationId"'"""))
            & ~_is_in_origin(param("own"))
            & ~fn.EXISTS(
                SubscriberHistory.select(SQL("1")).where(
                    (SubscriberHistory.account_id == param("account_id"))
                    & (SubscriberHistory.subscriber_id == Subscriber.id)
                    & (SubscriberHistory.type << [SQL(f"'{each}'") for each in CHANGES])
                    & (
                        SubscriberHistory.operation_id.is_null()
                        | (
                            ~_is_in_origin(SubscriberHistory.operation_id)
                            # An undo of another operation withdraws what it stated.
                            & (
                                (SubscriberHistory.changes != SQL("'{}'"))
                                | (SubscriberHistory.operation_id == param("own"))
                            )
                        )
                    )
                )
            )
        ),
        [
            SubscriberHistory.account_id,
            SubscriberHistory.subscriber_id,
            SubscriberHistory.id,
            *_ENTRY,
        ],
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


def record_repeated_opt_outs(
    account_id: str,
    rows: Sequence[SubscriberRow],
    status: Status,
    source: Source,
    tx: Transaction,
) -> None:
    """Adds an entry to subscribers whose opt-out is stated again by a status, if it can be undone.

    It can be undone if an operation made it or, for some minutes, if the person did with a link.
    The undo would end the opt-out otherwise. Further links of the person state nothing else.
    Repeated calls do not add entries. One statement if there is nothing to add, otherwise four.
    """
    repeated = [row for row in rows if {status, row.status} <= OPTED_OUT]
    if not repeated:
        return
    ids = [row.id for row in repeated]
    histories = entries_of_each(account_id, ids, (EntryType.STATUS_CHANGED,), tx)
    last = {id_: entries[-1] for id_, entries in histories.items()}
    # The clocks of processes differ.
    can_be_undone_since = tx.now - 2 * UNDO_TIME
    undoable = {
        id_: entry.changes
        for id_, entry in last.items()
        if entry.type is EntryType.STATUS_CHANGED
        and (
            entry.operation_id
            or (
                entry.source is Source.SELF_SERVICE
                and source is not Source.SELF_SERVICE
                and entry.at > can_be_undone_since
            )
        )
    }
    if undoable:
        revision = last_revision(account_id, tx)
        entries = [
            (id_, [opt_out_repeated(changes, status, revision, source)])
            for id_, changes in undoable.items()
        ]
        add_history(account_id, entries, tx)


def record_added_again(
    account_id: str, subscriber_ids: Sequence[str], source: Source, tx: Transaction
) -> None:
    """Adds an entry to subscribers that another operation created and nothing changed since.

    The undo of that operation would delete them otherwise. What a further operation stated can be
    undone too, so each has an entry of its own. One statement, without a row for each
    subscriber in Python: an import can state a million again.
    """
    entry = added_again(source)
    tx.run(
        _ADD_AGAIN,
        account_id=account_id,
        ids=subscriber_ids,
        since=(tx.now - _UNDOABLE_MILLISECONDS) * 1000,
        entry_id=tx.new_id(),
        actor=stored_actor(tx.actor),
        operation_id=tx.operation_id or None,
        own=tx.operation_id,
        **entry._asdict(),
    )


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
