"""Updates the counters of subscribers, and creates and removes buckets and groups."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from ....storage.transaction import Transaction
from .store_buckets import (
    ADD,
    ADD_TO_OPEN,
    BUCKET,
    BUCKET_SIZE,
    CLOSED_BETWEEN,
    FIRST_OF_OPEN,
    GROUP,
    GROUP_SIZE,
    LAST_GROUP,
    MOVE_OPEN,
    NTH,
    OPEN_BUCKET,
    REMOVE_EMPTY,
)


def add_to_counters(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts new subscribers, whose IDs are ascending.

    One statement, up to four more for IDs that precede the open bucket, and a few more when a
    bucket is full.
    """
    for first_id, total in tx.all(ADD_TO_OPEN, account_id=account_id, id=ids[0], change=len(ids)):
        _close_full(account_id, first_id, total, tx)
        return
    open_first_id = tx.scalar(FIRST_OF_OPEN, account_id=account_id)
    if open_first_id is None:
        tx.run(ADD, account_id=account_id, rows=[(OPEN_BUCKET, "", len(ids))])
        _close_full(account_id, "", len(ids), tx)
        return
    late = [subscriber_id for subscriber_id in ids if subscriber_id < open_first_id]
    _add_late_ids(account_id, late, tx)
    if len(late) < len(ids):
        add_to_counters(account_id, ids[len(late) :], tx)


def remove_from_counters(account_id: str, subscriber_id: str, tx: Transaction) -> None:
    """Removes a subscriber from the counters. At most four statements.

    An empty bucket is removed, and the range before it then covers its IDs. The first bucket
    of a group stays until the group is empty; both are then removed.
    """
    if tx.all(ADD_TO_OPEN, account_id=account_id, id=subscriber_id, change=-1):
        return
    bounds = {"first_id": subscriber_id, "last_id": subscriber_id}
    ranges = tx.all(CLOSED_BETWEEN, account_id=account_id, **bounds)
    tx.run(
        ADD, account_id=account_id, rows=[(level, first_id, -1) for level, first_id, _ in ranges]
    )
    (bucket, in_bucket), (group, in_group) = (found[1:] for found in sorted(ranges))
    if in_bucket > 1:
        return
    empty = {bucket} - {group} if in_group > 1 else {bucket, group}
    # The first bucket and group stay: they cover all IDs before the next range.
    if empty - {""}:
        tx.run(REMOVE_EMPTY, account_id=account_id, first_ids=list(empty - {""}))


def _add_late_ids(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts subscribers with ascending IDs before the open bucket.

    Two statements, and one more for each new bucket.
    """
    ranges = tx.all(CLOSED_BETWEEN, account_id=account_id, first_id=ids[0], last_id=ids[-1])
    changes = []
    for level in (BUCKET, GROUP):
        totals = {first_id: total for found, first_id, total in ranges if found == level}
        added = _by_range(ids, sorted(totals))
        if level == BUCKET:
            for first_id in list(added):
                _divide(account_id, first_id, totals[first_id], added, tx)
        changes += [(level, first_id, change) for first_id, change in added.items()]
    tx.run(ADD, account_id=account_id, rows=changes)


def _by_range(ids: Sequence[str], first_ids: Sequence[str]) -> Counter[str]:
    """Counts IDs by the first ID of the range that contains them."""
    return Counter([first_ids[bisect_right(first_ids, each) - 1] for each in ids])


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
    group, buckets = tx.one(LAST_GROUP, account_id=account_id) or ("", GROUP_SIZE)
    if buckets >= GROUP_SIZE:
        group = first_id
    rows = [(BUCKET, first_id, BUCKET_SIZE), (GROUP, group, BUCKET_SIZE)]
    tx.run(ADD, account_id=account_id, rows=rows)


def _divide(
    account_id: str, first_id: str, total: int, added: Counter[str], tx: Transaction
) -> None:
    """Splits a closed bucket if what is added makes it too large, by changes of `added`."""
    total += added[first_id]
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        added[first_id] -= total
        added[following] = total
        first_id = following


def _nth(account_id: str, first_id: str, tx: Transaction) -> str:
    """Returns the first ID after a bucket of the regular size."""
    return str(tx.scalar(NTH, account_id=account_id, first_id=first_id, skip=BUCKET_SIZE))
