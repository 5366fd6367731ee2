"""Stores counts of subscribers.

The transaction of a change updates the counts, so they are exact: an account has one writer at a
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from peewee import EXCLUDED, SQL, Case, fn

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from .models import Statistic
from .rules import END_OF_NAMES, QUARTERS_OF_DAY, TAG, TOTALS, Flow, begin_of

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_IN_ACCOUNT = Statistic.account_id == param("account_id")
_HAS_PREFIX = (Statistic.name >= param("first")) & (Statistic.name < param("end"))

_ADD = Statement(
    lambda dialect: dialect.insert_all(
        Statistic.account_id, (Statistic.day, Statistic.name, Statistic.total), "rows"
    ).on_conflict(
        conflict_target=[Statistic.account_id, Statistic.day, Statistic.name],
        update={Statistic.total: Statistic.total + EXCLUDED.total},
    ),
    has_one_plan=True,
)
_REMOVE = Statement(
    lambda _: Statistic.delete().where(
        _IN_ACCOUNT & (Statistic.day == SQL(str(TOTALS))) & _HAS_PREFIX
    ),
    has_one_plan=True,
)
_BETWEEN = Statement(
    lambda _: Statistic.select(Statistic.day, Statistic.name, Statistic.total).where(
        _IN_ACCOUNT & (Statistic.day >= param("first")) & (Statistic.day <= param("last"))
    ),
    has_one_plan=True,
)
_QUARTER = Statistic.day * SQL("-1")
_DAY = _QUARTER / SQL(str(QUARTERS_OF_DAY))
_IS_BEFORE = _DAY * SQL(str(QUARTERS_OF_DAY)) + param("quarters") > _QUARTER
_OF_QUARTERS = Statement(
    lambda _: (
        Statistic.select(
            _DAY,
            Statistic.name,
            fn.SUM(Statistic.total),
            fn.SUM(Case(None, ((_IS_BEFORE, Statistic.total),), SQL("0"))),
        )
        .where(_IN_ACCOUNT & (Statistic.day >= param("first")) & (Statistic.day <= param("last")))
        .group_by(_DAY, Statistic.name)
    ),
    has_one_plan=True,
)
_TOTALS = Statement(
    lambda _: Statistic.select(Statistic.name, Statistic.total).where(
        _IN_ACCOUNT & (Statistic.day == SQL(str(TOTALS))) & _HAS_PREFIX
    ),
    has_one_plan=True,
)


def add(account_id: str, changes: Mapping[tuple[int, str], int], tx: Transaction) -> None:
    """Adds to counts, given by day and name. At most one statement."""
    rows = [(day, name, change) for (day, name), change in changes.items() if change]
    if rows:
        tx.run(_ADD, account_id=account_id, rows=rows)


def remove_tag(account_id: str, tag_id: str, tx: Transaction) -> None:
    """Removes the totals of a deleted tag."""
    tx.run(_REMOVE, account_id=account_id, **_range(f"{TAG}{tag_id}:"))


def totals(account_id: str, prefix: str, tx: Transaction) -> dict[str, int]:
    """Returns the totals whose names start with a prefix, by the rest of the name."""
    rows = tx.all(_TOTALS, account_id=account_id, **_range(prefix))
    return {name.removeprefix(prefix): total for name, total in rows if total}


def tag_totals(account_id: str, tx: Transaction) -> dict[str, int]:
    """Returns the number of subscribers with each tag, by the ID of the tag."""
    by_tag: Counter[str] = Counter()
    for name, total in totals(account_id, TAG, tx).items():
        by_tag[name.partition(":")[0]] += total
    return by_tag


def _range(prefix: str) -> dict[str, str]:
    return {"first": prefix, "end": f"{prefix}{END_OF_NAMES}"}


def flows(account_id: str, first: int, last: int, tx: Transaction) -> dict[tuple[int, str], int]:
    """Returns the counts of the days from `first` to `last`, by day and name."""
    rows = tx.all(_BETWEEN, account_id=account_id, first=first, last=last)
    return {(day, name): total for day, name, total in rows}


class LocalFlows(NamedTuple):
    """The counts of days of a time zone, by day and name.

    They are exact from the day `exact_from` on; None if those of the last day are not.
    """

    counts: Counter[tuple[int, str]]
    exact_from: int | None


def local_flows(
    account_id: str, first: int, last: int, zone: ZoneInfo, tx: Transaction
) -> LocalFlows:
    """Returns the counts of the days of a time zone from `first` to `last`.

    Changes that earlier versions counted for a day in UTC only count for the day with its date.
    One statement, and one for each time in UTC at which a day begins: two with summer time.
    """
    begins = [divmod(begin_of(day, zone), QUARTERS_OF_DAY) for day in range(first, last + 2)]
    (start, _), (end, _) = begins[0], begins[-1]
    timed, before = Counter[tuple[int, str]](), Counter[tuple[int, int, str]]()
    # Positive numbers are days, not quarter hours before 1970.
    values = {"first": -(end + 1) * QUARTERS_OF_DAY + 1, "last": min(-start * QUARTERS_OF_DAY, -1)}
    for offset in {offset for _, offset in begins}:
        for day, name, total, part in tx.all(
            _OF_QUARTERS, account_id=account_id, quarters=offset, **values
        ):
            timed[day, name], before[day, offset, name] = int(total), int(part)
    untimed = Counter(flows(account_id, start, end, tx))
    untimed.subtract(timed)
    counts = Counter[tuple[int, str]]()
    for day, begin, following in zip(range(first, last + 1), begins, begins[1:], strict=False):
        for name in Flow:
            days = sum(timed[each, name] for each in range(begin[0], following[0]))
            parts = before[(*following, name)] - before[(*begin, name)]
            counts[day, name] = days + parts + untimed[day, name]
    if not any(offset for _, offset in begins):
        return LocalFlows(counts, first)
    # The totals have the number of the first day of 1970.
    untimed_days = (day for (day, _), total in untimed.items() if total and day != TOTALS)
    inexact = max(untimed_days, default=start - 1)
    exact = (first + index for index, (day, _) in enumerate(begins[:-1]) if day > inexact)
    return LocalFlows(counts, next(exact, None))
