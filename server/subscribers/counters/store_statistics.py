"""Counts the changes of subscribers for the statistics, and the matches of one filter."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import Any

from peewee import OP, SQL, Expression, ModelSelect, Node, fn

from ...statistics.models import Statistic
from ...statistics.rules import END_OF_NAMES, STATUS, TAG, TOTALS, Flow, day_of
from ...statistics.store import add
from ...storage.statements import param
from ...storage.transaction import Transaction
from ...tags.models import Tag
from ..fields import Status

_FLOWS = {
    Status.CONFIRMED: Flow.CONFIRMED,
    Status.UNSUBSCRIBED: Flow.UNSUBSCRIBED,
    Status.BOUNCED: Flow.BOUNCED,
    Status.COMPLAINED: Flow.COMPLAINED,
}


class StatisticChanges:
    """The changes of the counts of an account, by day and name."""

    def __init__(self, now: int) -> None:
        self._day = day_of(now)
        self._changes: Counter[tuple[int, str]] = Counter()

    def created(self, status: int, count: int) -> None:
        self._changes[self._day, Flow.CREATED] += count
        self._add_status(status, count)

    def changed(self, before: int, status: int) -> None:
        """Counts a subscriber whose status has changed."""
        self._add_status(before, -1)
        self._add_status(status, 1)
        if status in _FLOWS:
            self._changes[self._day, _FLOWS[Status(status)]] += 1

    def deleted(self, status: int) -> None:
        self._changes[self._day, Flow.DELETED] += 1
        self._add_status(status, -1)

    def add_tag(self, tag_id: str, status: int, change: int) -> None:
        self._changes[TOTALS, f"{TAG}{tag_id}:{int(status)}"] += change

    def store(self, account_id: str, tx: Transaction) -> None:
        """Stores the changes. At most one statement."""
        add(account_id, self._changes, tx)

    def _add_status(self, status: int, change: int) -> None:
        self._changes[TOTALS, f"{STATUS}{int(status)}"] += change
        if status == Status.CONFIRMED:
            self._changes[self._day, Flow.GROWTH] += change


def select_with_status() -> ModelSelect[Statistic]:
    """Selects the number of subscribers with the parameter `status`."""
    name = _concat(SQL(f"'{STATUS}'"), param("status").cast("TEXT"))
    return _select(Expression(Statistic.name, "=", name))


def select_with_tag() -> ModelSelect[Statistic]:
    """Selects the number of subscribers with the tag of the parameter `tag_key`."""
    tag = Tag.select(Tag.id).where(
        (Tag.account_id == param("account_id")) & (Tag.name_key == param("tag_key"))
    )
    first, end = (
        _concat(SQL(f"'{TAG}'"), tag, SQL(f"':{last}'")) for last in ("", END_OF_NAMES)
    )
    is_of_tag = Expression(Statistic.name, ">=", first) & Expression(Statistic.name, "<", end)
    return _select(is_of_tag)


def _concat(*parts: Node) -> Any:
    return reduce(lambda first, second: Expression(first, OP.CONCAT, second), parts)


def _select(condition: Expression) -> ModelSelect[Statistic]:
    # Without a row, the sum is null.
    return Statistic.select(fn.COALESCE(fn.SUM(Statistic.total), SQL("0"))).where(
        (Statistic.account_id == param("account_id"))
        & (Statistic.day == SQL(str(TOTALS)))
        & condition
    )
