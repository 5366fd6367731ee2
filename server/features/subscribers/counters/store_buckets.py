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

from typing import Any

from peewee import EXCLUDED, SQL, Expression, ModelSelect, fn

from ....storage.statements import Dialect, Statement, param
from ..models import Subscriber, SubscriberCounter

# An open bucket with twice this many subscribers is split: the first ones become a closed bucket.
BUCKET_SIZE = 500
# Buckets in a group.
GROUP_SIZE = 64

# The levels of ranges.
BUCKET, GROUP, OPEN_BUCKET = 0, 1, 2

# The first ID of a range, and the number of subscribers in it.
IdRange = tuple[str, int]


def of_level(level: int, range_of: Any = SubscriberCounter) -> Expression:
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


def _first_id_of_range_with(level: int, parameter: str) -> ModelSelect[SubscriberCounter]:
    """Selects the first ID of the range of this level that contains the ID in a parameter."""
    other = SubscriberCounter.alias()
    return other.select(fn.MAX(other.first_id)).where(
        of_level(level, other) & (other.first_id <= param(parameter))
    )


def _closed_between(level: int) -> Expression:
    """Returns the condition that selects the ranges of this level that contain IDs of a range."""
    counter = SubscriberCounter
    first_id = _first_id_of_range_with(level, "first_id")
    return of_level(level) & (counter.first_id >= first_id) & (counter.first_id <= param("last_id"))


def _last_group(_: Dialect) -> ModelSelect[SubscriberCounter]:
    """Selects the first ID of the last group, and its number of buckets."""
    group, bucket = SubscriberCounter.alias(), SubscriberCounter.alias()
    buckets = bucket.select(fn.COUNT(bucket.first_id)).where(
        of_level(BUCKET, bucket) & (bucket.first_id >= group.first_id)
    )
    query = group.select(group.first_id, buckets).where(of_level(GROUP, group))
    return query.order_by(group.first_id.desc()).limit(SQL("1"))


# Adds to the open bucket, if an ID is in it.
ADD_TO_OPEN = Statement(
    lambda _: (
        SubscriberCounter.update(
            {SubscriberCounter.total: SubscriberCounter.total + param("change")}
        )
        .where(of_level(OPEN_BUCKET) & (SubscriberCounter.first_id <= param("id")))
        .returning(SubscriberCounter.first_id, SubscriberCounter.total)
    ),
    has_one_plan=True,
)
CLOSED_BETWEEN = Statement(
    lambda _: SubscriberCounter.select(
        SubscriberCounter.level, SubscriberCounter.first_id, SubscriberCounter.total
    ).where(_closed_between(BUCKET) | _closed_between(GROUP)),
    has_one_plan=True,
)
FIRST_OF_OPEN = Statement(
    lambda _: SubscriberCounter.select(SubscriberCounter.first_id).where(of_level(OPEN_BUCKET)),
    has_one_plan=True,
)
MOVE_OPEN = Statement(
    lambda _: SubscriberCounter.update(
        {SubscriberCounter.first_id: param("first_id"), SubscriberCounter.total: param("total")}
    ).where(of_level(OPEN_BUCKET)),
    has_one_plan=True,
)
# Adds to ranges, and inserts missing ones.
ADD = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberCounter.account_id,
        (SubscriberCounter.level, SubscriberCounter.first_id, SubscriberCounter.total),
        "rows",
    ).on_conflict(
        conflict_target=[
            SubscriberCounter.account_id,
            SubscriberCounter.level,
            SubscriberCounter.first_id,
        ],
        update={SubscriberCounter.total: SubscriberCounter.total + EXCLUDED.total},
    ),
    has_one_plan=True,
)
REMOVE_EMPTY = Statement(
    lambda dialect: SubscriberCounter.delete().where(
        (SubscriberCounter.account_id == param("account_id"))
        & Expression(SubscriberCounter.level, "IN", SQL(f"({BUCKET}, {GROUP})"))
        & dialect.any_of(SubscriberCounter.first_id, "first_ids")
        & (SubscriberCounter.total == SQL("0"))
    ),
    has_one_plan=True,
)
LAST_GROUP = Statement(_last_group, has_one_plan=True)
NTH = Statement(lambda _: nth(), has_one_plan=True)
