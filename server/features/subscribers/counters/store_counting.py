"""Stores how many subscribers an account has, per range of their IDs.

Counting all subscribers, or skipping those before a page, takes time proportional to their
number. So the IDs of an account are divided into buckets of several hundred subscribers,
and buckets into groups of several dozen. The transaction that adds or removes subscribers
also updates the counts. A page is located by skipping groups, then buckets, then
subscribers: a few hundred steps in all.

IDs are ascending, so new subscribers belong to the last bucket. That bucket is open: it is in
no group, so only one row changes. A concurrent process may still add an ID to a closed bucket.
A bucket covers the IDs from its `first_id` to that of the next bucket, and so does a group;
the first one starts with the empty string. An account has one writer at a time, so
its counts are exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

from peewee import EXCLUDED, SQL, Expression, ModelSelect, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..models import Subscriber, SubscriberBucket

# Subscribers in a bucket when it is closed, which happens at twice this number, and buckets
# in a group.
BUCKET_SIZE = 500
GROUP_SIZE = 64

# The levels of ranges.
BUCKET, GROUP, OPEN_BUCKET = 0, 1, 2

# The first ID of a range, and the number of subscribers in it.
IdRange = tuple[str, int]


def of_level(level: int, range_of: Any = SubscriberBucket) -> Expression:
    """Returns the condition that selects the account's ranges of a level."""
    condition: Expression = range_of.account_id == param("account_id")
    condition &= range_of.level == SQL(str(level))
    return condition


def nth() -> ModelSelect[Subscriber]:
    """Selects the ID of the subscriber that is `skip` subscribers after the start of a range."""
    other = Subscriber.alias()
    query = other.select(other.id).where(
        (other.account_id == param("account_id")) & (other.id >= param("first_id"))
    )
    return query.order_by(other.id).limit(SQL("1")).offset(param("skip"))


def _first_id_of_holding(level: int, name: str) -> ModelSelect[SubscriberBucket]:
    """Selects the first ID of the range of this level that contains the ID of a parameter."""
    other = SubscriberBucket.alias()
    return other.select(fn.MAX(other.first_id)).where(
        of_level(level, other) & (other.first_id <= param(name))
    )


def _closed_between(level: int) -> Expression:
    """Returns the condition that selects the ranges of this level that contain IDs of a range."""
    counter = SubscriberBucket
    first_id = _first_id_of_holding(level, "first_id")
    return of_level(level) & (counter.first_id >= first_id) & (counter.first_id <= param("last_id"))


def _last_group(_: Dialect) -> ModelSelect[SubscriberBucket]:
    """Selects the first ID of the last group, and its number of buckets."""
    group, bucket = SubscriberBucket.alias(), SubscriberBucket.alias()
    buckets = bucket.select(fn.COUNT(bucket.first_id)).where(
        of_level(BUCKET, bucket) & (bucket.first_id >= group.first_id)
    )
    query = group.select(group.first_id, buckets).where(of_level(GROUP, group))
    return query.order_by(group.first_id.desc()).limit(SQL("1"))


# Adds to the open bucket, if an ID is in it.
_ADD_TO_OPEN = Statement(
    lambda _: (
        SubscriberBucket.update({SubscriberBucket.total: SubscriberBucket.total + param("change")})
        .where(of_level(OPEN_BUCKET) & (SubscriberBucket.first_id <= param("id")))
        .returning(SubscriberBucket.first_id, SubscriberBucket.total)
    ),
    has_one_plan=True,
)
_CLOSED_BETWEEN = Statement(
    lambda _: SubscriberBucket.select(
        SubscriberBucket.level, SubscriberBucket.first_id, SubscriberBucket.total
    ).where(_closed_between(BUCKET) | _closed_between(GROUP)),
    has_one_plan=True,
)
_FIRST_OF_OPEN = Statement(
    lambda _: SubscriberBucket.select(SubscriberBucket.first_id).where(of_level(OPEN_BUCKET)),
    has_one_plan=True,
)
_MOVE_OPEN = Statement(
    lambda _: SubscriberBucket.update(
        {SubscriberBucket.first_id: param("first_id"), SubscriberBucket.total: param("total")}
    ).where(of_level(OPEN_BUCKET)),
    has_one_plan=True,
)
# Adds to ranges, and begins those that do not exist.
ADD = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberBucket.account_id,
        (SubscriberBucket.level, SubscriberBucket.first_id, SubscriberBucket.total),
        "rows",
    ).on_conflict(
        conflict_target=[
            SubscriberBucket.account_id,
            SubscriberBucket.level,
            SubscriberBucket.first_id,
        ],
        update={SubscriberBucket.total: SubscriberBucket.total + EXCLUDED.total},
    ),
    has_one_plan=True,
)
_REMOVE_EMPTY = Statement(
    lambda dialect: SubscriberBucket.delete().where(
        (SubscriberBucket.account_id == param("account_id"))
        & Expression(SubscriberBucket.level, "IN", SQL(f"({BUCKET}, {GROUP})"))
        & dialect.any_of(SubscriberBucket.first_id, "first_ids")
        & (SubscriberBucket.total == SQL("0"))
    ),
    has_one_plan=True,
)
_REMOVE_ALL = Statement(
    lambda _: SubscriberBucket.delete().where(SubscriberBucket.account_id == param("account_id"))
)
_COUNT_REST = Statement(
    lambda _: Subscriber.select(fn.COUNT(Subscriber.id)).where(
        (Subscriber.account_id == param("account_id")) & (Subscriber.id >= param("first_id"))
    )
)
_LAST_GROUP = Statement(_last_group, has_one_plan=True)
_NTH = Statement(lambda _: nth(), has_one_plan=True)


def add_to_counters(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts new subscribers, whose IDs are ascending.

    One statement, up to four more for IDs that precede the open bucket, and a few more when a
    bucket is full.
    """
    for first_id, total in tx.all(_ADD_TO_OPEN, account_id=account_id, id=ids[0], change=len(ids)):
        _close_full(account_id, first_id, total, tx)
        return
    open_first_id = tx.scalar(_FIRST_OF_OPEN, account_id=account_id)
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
    if tx.all(_ADD_TO_OPEN, account_id=account_id, id=subscriber_id, change=-1):
        return
    bounds = {"first_id": subscriber_id, "last_id": subscriber_id}
    ranges = tx.all(_CLOSED_BETWEEN, account_id=account_id, **bounds)
    tx.run(
        ADD, account_id=account_id, rows=[(level, first_id, -1) for level, first_id, _ in ranges]
    )
    (bucket, in_bucket), (group, in_group) = (found[1:] for found in sorted(ranges))
    if in_bucket > 1:
        return
    empty = {bucket} - {group} if in_group > 1 else {bucket, group}
    # The first bucket and group stay: they cover all IDs before the next range.
    if empty - {""}:
        tx.run(_REMOVE_EMPTY, account_id=account_id, first_ids=list(empty - {""}))


def _add_late_ids(account_id: str, ids: Sequence[str], tx: Transaction) -> None:
    """Counts subscribers with ascending IDs before the open bucket.

    Two statements, and one more for each new bucket.
    """
    ranges = tx.all(_CLOSED_BETWEEN, account_id=account_id, first_id=ids[0], last_id=ids[-1])
    changes = []
    for level in (BUCKET, GROUP):
        totals = {first_id: total for found, first_id, total in ranges if found == level}
        added = by_range(ids, sorted(totals))
        if level == BUCKET:
            for first_id in list(added):
                _divide(account_id, first_id, totals[first_id], added, tx)
        changes += [(level, first_id, change) for first_id, change in added.items()]
    tx.run(ADD, account_id=account_id, rows=changes)


def by_range(ids: Sequence[str], first_ids: Sequence[str]) -> Counter[str]:
    """Counts IDs by the first ID of the range that contains them."""
    return Counter([first_ids[bisect_right(first_ids, each) - 1] for each in ids])


def _close_full(account_id: str, first_id: str, total: int, tx: Transaction) -> None:
    """Closes the open bucket while it is full; its remainder becomes the open bucket."""
    while total >= 2 * BUCKET_SIZE:
        following = _nth(account_id, first_id, tx)
        total -= BUCKET_SIZE
        tx.run(_MOVE_OPEN, account_id=account_id, first_id=following, total=total)
        _add_to_group(account_id, first_id, tx)
        first_id = following


def _add_to_group(account_id: str, first_id: str, tx: Transaction) -> None:
    """Adds a closed bucket to the last group or to a new one."""
    group, buckets = tx.one(_LAST_GROUP, account_id=account_id) or ("", GROUP_SIZE)
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
    """Returns the first ID after a bucket of the regular size, or an empty string."""
    following = tx.scalar(_NTH, account_id=account_id, first_id=first_id, skip=BUCKET_SIZE)
    return following or ""


def rebuild_counters(account_id: str, tx: Transaction) -> None:
    """Counts all subscribers again. A statement for each bucket, and three more."""
    tx.run(_REMOVE_ALL, account_id=account_id)
    first_ids = [""]
    while following := _nth(account_id, first_ids[-1], tx):
        first_ids.append(following)
    *closed, last = first_ids
    rest = tx.scalar(_COUNT_REST, account_id=account_id, first_id=last)
    rows = [(OPEN_BUCKET, last, rest), *((BUCKET, first_id, BUCKET_SIZE) for first_id in closed)]
    for start in range(0, len(closed), GROUP_SIZE):
        group = closed[start : start + GROUP_SIZE]
        rows.append((GROUP, group[0], BUCKET_SIZE * len(group)))
    tx.run(ADD, account_id=account_id, rows=rows)
