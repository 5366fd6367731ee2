"""Counts the changes of subscribers for the statistics, and matches with the statistics."""

from __future__ import annotations

from collections import Counter
from functools import partial, reduce
from typing import Any

from peewee import OP, SQL, Expression, ModelSelect, Node, fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ...statistics.models import Statistic
from ...statistics.rules import END_OF_NAMES, STATUS, TAG, TOTALS, Flow, day_of, quarter_of
from ...statistics.store import add, totals
from ...tags.models import Tag
from ..fields import Status
from ..query.tree import Condition, Kind, comparisons, is_status, is_tag, is_true

_FLOWS = {
    Status.CONFIRMED: Flow.CONFIRMED,
    Status.UNSUBSCRIBED: Flow.UNSUBSCRIBED,
    Status.BOUNCED: Flow.BOUNCED,
    Status.COMPLAINED: Flow.COMPLAINED,
}
_IN_TOTALS = (Statistic.account_id == param("account_id")) & (Statistic.day == SQL(str(TOTALS)))


class StatisticChanges:
    """The changes of the counts of an account, by day and name.

    Flows are counted for the day and for the quarter hour, in the same statement.
    """

    def __init__(self, now: int) -> None:
        self._periods = day_of(now), -quarter_of(now)
        self._changes: Counter[tuple[int, str]] = Counter()

    def created(self, status: int, count: int, *, imported: bool) -> None:
        self._add_flow(Flow.IMPORTED if imported else Flow.CREATED, count)
        self._add_status(status, count)

    def changed(self, before: int, status: int) -> None:
        """Counts a change of the status of a subscriber."""
        self._add_status(before, -1)
        self._add_status(status, 1)
        if status in _FLOWS:
            self._add_flow(_FLOWS[Status(status)], 1)

    def deleted(self, status: int) -> None:
        self._add_flow(Flow.DELETED, 1)
        self._add_status(status, -1)

    def add_tag(self, tag_id: str, status: int, change: int) -> None:
        self._changes[TOTALS, f"{TAG}{tag_id}:{int(status)}"] += change

    def store(self, account_id: str, tx: Transaction) -> None:
        """Stores the changes. At most one statement."""
        add(account_id, self._changes, tx)

    def _add_status(self, status: int, change: int) -> None:
        self._changes[TOTALS, f"{STATUS}{int(status)}"] += change
        if status == Status.CONFIRMED:
            self._add_flow(Flow.GROWTH, change)

    def _add_flow(self, flow: Flow, change: int) -> None:
        for period in self._periods:
            self._changes[period, flow] += change


def select_with(condition: Condition) -> ModelSelect[Statistic]:
    """Selects the number of subscribers with a status or a tag, given the name of a parameter."""
    is_counted = _is_of_tag if is_tag(condition) else _is_of_status
    # Without a row, the sum is null.
    return Statistic.select(fn.COALESCE(fn.SUM(Statistic.total), SQL("0"))).where(
        _IN_TOTALS & is_counted(condition.values[0])
    )


def _is_of_status(name: str) -> Expression:
    return Expression(Statistic.name, "=", _concat(SQL(f"'{STATUS}'"), param(name).cast("TEXT")))


def _is_of_tag(name: str) -> Expression:
    tag = Tag.select(Tag.id).where(
        (Tag.account_id == param("account_id")) & (Tag.name_key == param(name))
    )
    first, end = (_concat(SQL(f"'{TAG}'"), tag, SQL(f"':{last}'")) for last in ("", END_OF_NAMES))
    return Expression(Statistic.name, ">=", first) & Expression(Statistic.name, "<", end)


_COUNT_STATUS, _COUNT_TAG = [
    Statement(partial(lambda each, _: select_with(each), condition), has_one_plan=True)
    for condition in (
        Condition(Kind.COLUMN, "=", ("value",), "status"),
        Condition(Kind.TAG, "=", ("value",)),
    )
]
_WITH_TAG = Statement(
    lambda _: Statistic.select(Statistic.name, Statistic.total).where(
        _IN_TOTALS & _is_of_tag("tag_key")
    ),
    has_one_plan=True,
)


def count_with(account_id: str, condition: Condition, tx: Transaction) -> int:
    """Returns the number of subscribers with a status or a tag. One statement."""
    (value,) = condition.values
    statement = _COUNT_TAG if is_tag(condition) else _COUNT_STATUS
    return int(tx.scalar(statement, account_id=account_id, value=value))


def by_status_of_statistics(account_id: str, tree: Any, tx: Transaction) -> dict[int, int] | None:
    """Returns the numbers of subscribers that match conditions on their status and one tag.

    Returns None for other conditions. At most two statements. The total of `status and tag (75 %)`
    takes no time in proportion to it (`make bench-scale`).
    """
    conditions = list(comparisons(tree))
    tags = {each.values for each in conditions if is_tag(each)}
    if len(tags) > 1 or not all(is_tag(each) or is_status(each) for each in conditions):
        return None
    by_status = {int(status): count for status, count in totals(account_id, STATUS, tx).items()}
    tagged: dict[int, int] = {}
    for (tag_key,) in tags:
        rows = tx.all(_WITH_TAG, account_id=account_id, tag_key=tag_key)
        tagged = {int(name.rpartition(":")[2]): count for name, count in rows}

    def matches(status: int, *, has_tag: bool) -> bool:
        return is_true(tree, lambda each: has_tag if is_tag(each) else (status,) == each.values)

    return {
        status: tagged.get(status, 0) * matches(status, has_tag=True)
        + (count - tagged.get(status, 0)) * matches(status, has_tag=False)
        for status, count in by_status.items()
    }


def _concat(*parts: Node) -> Any:
    return reduce(lambda first, second: Expression(first, OP.CONCAT, second), parts)
