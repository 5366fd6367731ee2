"""Counting subscribers in and out, and the blocks and chapters that this begins and ends."""

from __future__ import annotations

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
    """Counts subscribers that were stored; their ids rise.

    One statement, and a few more where a block is full, once in some hundred subscribers.
    """
    found = tx.all(ADD_TO_OPEN, account_id=account_id, id=ids[0], change=len(ids))
    if found:
        _close_full(account_id, found[0][1:], tx)
        return
    opened = tx.one(FIRST_OF_OPEN, account_id=account_id)
    if opened is None:
        tx.run(BEGIN, account_id=account_id, rows=[(OPEN_BUCKET, "", len(ids))])
        _close_full(account_id, ("", len(ids)), tx)
        return
    late = [subscriber_id for subscriber_id in ids if subscriber_id < opened[0]]
    _add_late_ids(account_id, late, tx)
    if len(late) < len(ids):
        add_to_counters(account_id, ids[len(late) :], tx)


def remove_from_counters(account_id: str, subscriber_id: str, tx: Transaction) -> None:
    """Counts a subscriber no more. Three statements at most.

    What is empty then goes, and its ids fall to what is before it; a chapter goes with
    its first block, which stays as long as there is one more in it.
    """
    if tx.all(ADD_TO_OPEN, account_id=account_id, id=subscriber_id, change=-1):
        return
    changed = _change_closed(account_id, subscriber_id, -1, tx)
    (bucket, left), (group, left_in_group) = changed[BUCKET], changed[GROUP]
    if left:
        return
    empty = {bucket} - {group} if left_in_group else {bucket, group}
    # The first of all stay, since everything before the next belongs to them.
    if empty - {""}:
        tx.run(REMOVE_EMPTY, account_id=account_id, first_ids=list(empty - {""}))


def _add_late_ids(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts subscribers whose ids, which rise, come before the open block."""
    while ids:
        changed = _change_closed(account_id, ids[-1], len(ids), tx)
        first_id, total = changed[BUCKET]
        # Nearly always there are none: a block would have to begin between these ids.
        before = [subscriber_id for subscriber_id in ids if subscriber_id < first_id]
        if before:
            _change_closed(account_id, ids[-1], -len(before), tx)
        _divide(account_id, (first_id, total - len(before)), tx)
        ids = before


def _change_closed(
    account_id: str, subscriber_id: str, change: int, tx: Transaction
) -> dict[int, IdRange]:
    """Changes the closed block and the chapter of an id, and returns them by their level."""
    rows = tx.all(ADD_TO_CLOSED, account_id=account_id, id=subscriber_id, change=change)
    return {level: (first_id, total) for level, first_id, total in rows}


def _close_full(account_id: str, bucket: IdRange, tx: Transaction) -> None:
    """Closes the open block as long as it is full; what follows in it is the open one then."""
    first_id, total = bucket
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        tx.run(MOVE_OPEN, account_id=account_id, first_id=following, total=total)
        _add_to_group(account_id, first_id, tx)
        first_id = following


def _add_to_group(account_id: str, first_id: str, tx: Transaction) -> None:
    """Notes a block that was closed, in the last chapter or in a new one."""
    closed = [(BUCKET, first_id, BUCKET_SIZE)]
    group, buckets = tx.one(LAST_GROUP, account_id=account_id) or ("", GROUP_SIZE)
    if buckets < GROUP_SIZE:
        _add_to(account_id, GROUP, group, BUCKET_SIZE, tx)
    else:
        closed.append((GROUP, first_id, BUCKET_SIZE))
    tx.run(BEGIN, account_id=account_id, rows=closed)


def _divide(account_id: str, bucket: IdRange, tx: Transaction) -> None:
    """Makes several of a closed block if it has become too large."""
    first_id, total = bucket
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        _add_to(account_id, BUCKET, first_id, -total, tx)
        tx.run(BEGIN, account_id=account_id, rows=[(BUCKET, following, total)])
        first_id = following


def _nth(account_id: str, first_id: str, tx: Transaction) -> str:
    """Returns the id at which what follows a block of the usual size begins."""
    found = tx.one(NTH, account_id=account_id, first_id=first_id, skip=BUCKET_SIZE)
    assert found is not None
    return str(found[0])


def _add_to(account_id: str, level: int, first_id: str, change: int, tx: Transaction) -> None:
    tx.all(ADD_TO, account_id=account_id, level=level, first_id=first_id, change=change)
