"""How many subscribers an account has, by stretches of their ids.

To count them, or to pass over those before a page, takes longer the more there are. So
the ids of an account are cut into blocks of some hundred subscribers, and blocks into
chapters of some dozen; how many each holds is changed in the transaction that adds or
removes them. A place is found by passing over chapters, then over blocks, then over
subscribers: a few hundred steps in all, wherever it is.

Ids rise, so what is new falls into the last block. That one is open: it belongs to no
chapter and stands beside them, which makes it one row to change. What other processes
have made a moment before may still fall into a block that is closed. A block goes from
its `first_id` up to the next one's, and a chapter too, so every id that there can be has
its place; the first of all begins with the empty text. An account has one writer at a
time, and with that its counts are exact.
"""

from __future__ import annotations

from typing import Any

from peewee import SQL, Expression, ModelSelect, ModelUpdate, fn

from ...storage.statements import Dialect, Statement, param
from ..models import Subscriber, SubscriberCounter

# How many subscribers a block has when it is closed, which it is when there are twice as
# many; and how many blocks a chapter.
BUCKET_SIZE = 500
GROUP_SIZE = 64

# The levels of stretches.
BUCKET, GROUP, OPEN_BUCKET = 0, 1, 2

# Where a stretch begins, and how many subscribers it holds.
IdRange = tuple[str, int]


def of_level(level: int, range_of: Any = SubscriberCounter) -> Expression:
    """Returns the condition that a stretch is one of the account's, of a level."""
    condition: Expression = range_of.account_id == param("account_id")
    condition &= range_of.level == SQL(str(level))
    return condition


def nth() -> ModelSelect[Subscriber]:
    """Selects the id of the subscriber that comes so many (`skip`) after the first of a block."""
    other = Subscriber.alias()
    query = other.select(other.id).where(
        (other.account_id == param("account_id")) & (other.id >= param("first_id"))
    )
    return query.order_by(other.id).limit(SQL("1")).offset(param("skip"))


def _add(condition: Expression) -> ModelUpdate:
    own = SubscriberCounter
    query = own.update({own.total: own.total + param("change")}).where(condition)
    return query.returning(own.level, own.first_id, own.total)


def _holding(level: int) -> Expression:
    """Returns the condition that a stretch of this level is the one an id lies in."""
    other = SubscriberCounter.alias()
    first_id = other.select(fn.MAX(other.first_id)).where(
        of_level(level, other) & (other.first_id <= param("id"))
    )
    return of_level(level) & (SubscriberCounter.first_id == first_id)


def _last_group(_: Dialect) -> ModelSelect[SubscriberCounter]:
    """Selects where the last chapter begins, and how many blocks it has."""
    group, bucket = SubscriberCounter.alias(), SubscriberCounter.alias()
    buckets = bucket.select(fn.COUNT(bucket.first_id)).where(
        of_level(BUCKET, bucket) & (bucket.first_id >= group.first_id)
    )
    query = group.select(group.first_id, buckets).where(of_level(GROUP, group))
    return query.order_by(group.first_id.desc()).limit(SQL("1"))


ADD_TO_OPEN = Statement(
    lambda _: _add(of_level(OPEN_BUCKET) & (SubscriberCounter.first_id <= param("id")))
)
ADD_TO_CLOSED = Statement(lambda _: _add(_holding(BUCKET) | _holding(GROUP)))
ADD_TO = Statement(
    lambda _: _add(
        (SubscriberCounter.account_id == param("account_id"))
        & (SubscriberCounter.level == param("level"))
        & (SubscriberCounter.first_id == param("first_id"))
    )
)
FIRST_OF_OPEN = Statement(
    lambda _: SubscriberCounter.select(SubscriberCounter.first_id).where(of_level(OPEN_BUCKET))
)
MOVE_OPEN = Statement(
    lambda _: SubscriberCounter.update(
        {SubscriberCounter.first_id: param("first_id"), SubscriberCounter.total: param("total")}
    ).where(of_level(OPEN_BUCKET))
)
BEGIN = Statement(
    lambda dialect: dialect.insert_all(
        SubscriberCounter.account_id,
        (SubscriberCounter.level, SubscriberCounter.first_id, SubscriberCounter.total),
        "rows",
    )
)
REMOVE_EMPTY = Statement(
    lambda dialect: SubscriberCounter.delete().where(
        (SubscriberCounter.account_id == param("account_id"))
        & Expression(SubscriberCounter.level, "IN", SQL(f"({BUCKET}, {GROUP})"))
        & dialect.any_of(SubscriberCounter.first_id, "first_ids")
        & (SubscriberCounter.total == SQL("0"))
    )
)
LAST_GROUP = Statement(_last_group)
NTH = Statement(lambda _: nth())
