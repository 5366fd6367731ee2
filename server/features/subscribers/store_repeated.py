"""Records statements that are made again: repeated opt-outs, and subscribers that are added again.

Without these entries, the undo of an operation would end what a later request stated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peewee import SQL, fn

from ...security.links import UNDO_TIME
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from .fields import Status, SubscriberRow
from .history import Entry, EntryType, Source, added_again, opt_out_repeated, stored_actor
from .models import Subscriber, SubscriberHistory
from .rules import OPTED_OUT
from .store_history import CHANGES, COLUMNS, add_history, entries_of_each
from .store_revisions import last_revision

# An import can be undone for 24 hours after its end, and takes less than 24 hours.
_UNDOABLE_MILLISECONDS = 48 * 3600 * 1000


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
            *COLUMNS,
        ],
    ),
    has_one_plan=True,
)


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
