"""Updates the counters of subscribers, and creates and removes buckets and groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ...storage.transaction import Transaction
from .store_buckets import (
    ADD_TO,
    ADD_TO_CLOSED,
    ADD_TO_OPEN,
    BEGIN,
    BUCKET,
    BUCKET_SIZE,
    FIRST_OF_OPEN,
    GROUP,
    GROUP_SIZE,
    LAST_GROUP,
    MOVE_OPEN,
    NTH,
    OPEN_BUCKET,
    REMOVE_EMPTY,
    IdRange,
)


def add_to_counters(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts new subscribers, whose IDs are ascending.

    One statement, and a few more when a bucket is full.
    """
    for _, first_id, total in tx.all(
        ADD_TO_OPEN, account_id=account_id, id=ids[0], change=len(ids)
    ):
        _close_full(account_id, first_id, total, tx)
        return
    open_first_id = tx.scalar(FIRST_OF_OPEN, account_id=account_id)
    if open_first_id is None:
        tx.run(BEGIN, account_id=account_id, rows=[(OPEN_BUCKET, "", len(ids))])
        _close_full(account_id, "", len(ids), tx)
        return
    late = [subscriber_id for subscriber_id in ids if subscriber_id < open_first_id]
    _add_late_ids(account_id, late, tx)
    if len(late) < len(ids):
        add_to_counters(account_id, ids[len(late) :], tx)


def remove_from_counters(account_id: str, subscriber_id: str, tx: Transaction) -> None:
    """Removes a subscriber from the counters. At most three statements.

    An empty bucket is removed, and the range before it then covers its IDs. The first bucket
    of a group stays until the group is empty; both are then removed.
    """
    if tx.all(ADD_TO_OPEN, account_id=account_id, id=subscriber_id, change=-1):
        return
    changed = _change_closed(account_id, subscriber_id, -1, tx)
    (bucket, left), (group, left_in_group) = changed[BUCKET], changed[GROUP]
    if left:
        return
    empty = {bucket} - {group} if left_in_group else {bucket, group}
    # The first bucket and group stay: they cover all IDs before the next range.
    if empty - {""}:
        tx.run(REMOVE_EMPTY, account_id=account_id, first_ids=list(empty - {""}))


def _add_late_ids(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts subscribers whose ascending IDs precede the open bucket."""
    while ids:
        changed = _change_closed(account_id, ids[-1], len(ids), tx)
        first_id, total = changed[BUCKET]
        # Not empty if a bucket begins between these IDs.
        before = ids[: bisect_left(ids, first_id)]
        if before:
            _change_closed(account_id, ids[-1], -len(before), tx)
        _divide(account_id, first_id, total - len(before), tx)
        ids = before


def _change_closed(
    account_id: str, subscriber_id: str, change: int, tx: Transaction
) -> dict[int, IdRange]:
    """Changes the closed bucket and the group of an ID, and returns both by level."""
    rows = tx.all(ADD_TO_CLOSED, account_id=account_id, id=subscriber_id, change=change)
    return {level: (first_id, total) for level, first_id, total in rows}


def _close_full(account_id: str, first_id: str, total: int, tx: Transaction) -> None:
    """Closes the open bucket while it is full; its remainder becomes the open bucket."""
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        tx.run(MOVE_OPEN, account_id=account_id, first_id=following, total=total)
        _add_to_group(account_id, first_id, tx)
        first_id = following


def _add_to_group(account_id: str, first_id: str, tx: Transaction) -> None:
    """Adds a closed bucket to the last group or to a new one."""
    closed = [(BUCKET, first_id, BUCKET_SIZE)]
    group, buckets = tx.one(LAST_GROUP, account_id=account_id) or ("", GROUP_SIZE)
    if buckets < GROUP_SIZE:
        _add_to(account_id, GROUP, group, BUCKET_SIZE, tx)
    else:
        closed.append((GROUP, first_id, BUCKET_SIZE))
    tx.run(BEGIN, account_id=account_id, rows=closed)


def _divide(account_id: str, first_id: str, total: int, tx: Transaction) -> None:
    """Splits a closed bucket that has become too large."""
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        _add_to(account_id, BUCKET, first_id, -total, tx)
        tx.run(BEGIN, account_id=account_id, rows=[(BUCKET, following, total)])
        first_id = following


def _nth(account_id: str, first_id: str, tx: Transaction) -> str:
    """Returns the first ID after a bucket of the regular size."""
    return str(tx.scalar(NTH, account_id=account_id, first_id=first_id, skip=BUCKET_SIZE))


def _add_to(account_id: str, level: int, first_id: str, change: int, tx: Transaction) -> None:
    tx.all(ADD_TO, account_id=account_id, level=level, first_id=first_id, change=change)
