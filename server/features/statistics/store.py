"""Stores counts of subscribers.

The transaction of a change updates the counts, so they are exact: an account has one writer at a
time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from peewee import EXCLUDED, SQL

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from .models import Statistic
from .rules import END_OF_NAMES, TAG, TOTALS

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
