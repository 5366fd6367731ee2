"""Pages of all subscribers by their number, and how many there are: through blocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from peewee import SQL, Expression, ModelSelect, fn

from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from .models import Subscriber, SubscriberBlock
from .store_blocks import BLOCK, CHAPTER, Stretch, nth, of_level
from .store_reading import IN_ACCOUNT, stored

# What stands beside each other and holds everyone: the chapters, and then the open block.
_CHAPTERS_AND_OPEN = (SubscriberBlock.account_id == param("account_id")) & (
    SubscriberBlock.level >= SQL(str(CHAPTER))
)
_TOTAL = Statement(
    lambda _: SubscriberBlock.select(fn.SUM(SubscriberBlock.total)).where(_CHAPTERS_AND_OPEN)
)
_CHAPTERS = Statement(
    lambda _: (
        SubscriberBlock.select(SubscriberBlock.first_id, SubscriberBlock.total)
        .where(_CHAPTERS_AND_OPEN)
        .order_by(SubscriberBlock.level, SubscriberBlock.first_id)
    )
)
_BLOCKS = Statement(
    lambda _: (
        SubscriberBlock.select(SubscriberBlock.first_id, SubscriberBlock.total)
        .where(
            of_level(BLOCK)
            & (SubscriberBlock.first_id >= param("first_id"))
            & (SubscriberBlock.first_id < param("end_id"))
        )
        .order_by(SubscriberBlock.first_id)
    )
)


def _from(dialect: Dialect, condition: Expression, order: Any) -> ModelSelect[Subscriber]:
    return stored(dialect).where(IN_ACCOUNT & condition).order_by(order).limit(param("limit"))


_OLDEST_FIRST = Statement(lambda dialect: _from(dialect, Subscriber.id >= nth(), Subscriber.id))
_NEWEST_FIRST = Statement(
    lambda dialect: _from(dialect, Subscriber.id <= nth(), Subscriber.id.desc())
)


class Numbered(NamedTuple):
    """Rows for `complete`, and how many subscribers the account has."""

    rows: list[tuple[Any, ...]]
    total: int


def total(account_id: str, tx: Transaction) -> int:
    """Returns how many subscribers the account has. One statement."""
    found = tx.one(_TOTAL, account_id=account_id)
    return int(found[0] or 0) if found else 0


def numbered(
    account_id: str, offset: int, limit: int, tx: Transaction, *, descending: bool
) -> Numbered:
    """Returns the subscribers that come after so many, in order of creation.

    Three statements at most.
    """
    stretches = tx.all(_CHAPTERS, account_id=account_id)
    everyone = sum(own for _, own in stretches)
    before = everyone - 1 - offset if descending else offset
    if not 0 <= before < everyone:
        return Numbered([], everyone)
    place, before = _where(stretches, before)
    if place + 1 < len(stretches):
        first_id, end_id = stretches[place][0], stretches[place + 1][0]
        stretches = tx.all(_BLOCKS, account_id=account_id, first_id=first_id, end_id=end_id)
        place, before = _where(stretches, before)
    first_id = stretches[place][0]
    statement = _NEWEST_FIRST if descending else _OLDEST_FIRST
    rows = tx.all(statement, account_id=account_id, first_id=first_id, skip=before, limit=limit)
    return Numbered(rows, everyone)


def _where(stretches: Iterable[Stretch], before: int) -> tuple[int, int]:
    """Returns in which stretch the subscriber is who comes after so many, and how many of it."""
    for place, (_, own) in enumerate(stretches):
        if before < own:
            return place, before
        before -= own
    raise AssertionError("a chapter has as many subscribers as its blocks")
