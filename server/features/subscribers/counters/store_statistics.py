"""Counts the changes of subscribers for the statistics, and matches with the statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from typing import Any

from peewee import OP, SQL, Expression, ModelSelect, Node, fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ...statistics.models import Statistic
from ...statistics.rules import END_OF_NAMES, STATUS, TAG, TOTALS, Flow, day_of
from ...statistics.store import add, totals
from ...tags.models import Tag
from ..fields import Status
from ..filters.expression import Kind
from ..filters.tree import comparisons, is_true

_FLOWS = {
    Status.CONFIRMED: Flow.CONFIRMED,
    Status.UNSUBSCRIBED: Flow.UNSUBSCRIBED,
    Status.BOUNCED: Flow.BOUNCED,
    Status.COMPLAINED: Flow.COMPLAINED,
}


_IN_TOTALS = (Statistic.account_id == param("account_id")) & (Statistic.day == SQL(str(TOTALS)))


class StatisticChanges:
    """The changes of the counts of an account, by day and name."""

    def __init__(self, now: int) -> None:
        self._day = day_of(now)
        self._changes: Counter[tuple[int, str]] = Counter()

    def created(self, status: int, count: int) -> None:
        self._changes[self._day, Flow.CREATED] += count
        self._add_status(status, count)

    def changed(self, before: int, status: int) -> None:
        """Counts a change of the status of a subscriber."""
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
    return _select(_is_of_tag())


def _is_of_tag() -> Expression:
    tag = Tag.select(Tag.id).where(
        (Tag.account_id == param("account_id")) & (Tag.name_key == param("tag_key"))
    )
    first, end = (_concat(SQL(f"'{TAG}'"), tag, SQL(f"':{last}'")) for last in ("", END_OF_NAMES))
    return Expression(Statistic.name, ">=", first) & Expression(Statistic.name, "<", end)


_WITH_TAG = Statement(
    lambda _: Statistic.select(Statistic.name, Statistic.total).where(_IN_TOTALS & _is_of_tag()),
    has_one_plan=True,
)


def count_by_statistics(
    account_id: str, tree: Any, values: Mapping[str, Any], tx: Transaction
) -> int | None:
    """Returns the number of subscribers that match conditions on their status and one tag.

    Returns None for other conditions. At most two statements.
    """
    conditions = list(comparisons(tree))
    tags = {values[each.parameters[0]] for each in conditions if _is_exact(each, Kind.TAG)}
    if len(tags) > 1 or not all(
        _is_exact(each, Kind.TAG) or (_is_exact(each, Kind.COLUMN) and each.column == "status")
        for each in conditions
    ):
        return None
    by_status = {int(status): count for status, count in totals(account_id, STATUS, tx).items()}
    tagged: dict[int, int] = {}
    for tag_key in tags:
        rows = tx.all(_WITH_TAG, account_id=account_id, tag_key=tag_key)
        tagged = {int(name.rpartition(":")[2]): count for name, count in rows}

    def matches(status: int, *, has_tag: bool) -> bool:
        return is_true(
            tree,
            lambda each: has_tag if each.kind is Kind.TAG else status == values[each.parameters[0]],
        )

    return sum(
        tagged.get(status, 0) * matches(status, has_tag=True)
        + (count - tagged.get(status, 0)) * matches(status, has_tag=False)
        for status, count in by_status.items()
    )


def _is_exact(condition: Any, kind: Kind) -> bool:
    return condition.kind is kind and condition.operator == "="


def _concat(*parts: Node) -> Any:
    return reduce(lambda first, second: Expression(first, OP.CONCAT, second), parts)


def _select(condition: Expression) -> ModelSelect[Statistic]:
    # Without a row, the sum is null.
    return Statistic.select(fn.COALESCE(fn.SUM(Statistic.total), SQL("0"))).where(
        _IN_TOTALS & condition
    )
