"""Counts the matches of a tree by status and by tag.

The matches are found once. Totals of conditions on statuses and one tag follow from statistics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import JOIN, SQL, Field, Join, Select, fn

from ....storage.statements import Dialect, Statement, cached_by_account, param
from ....storage.transaction import Transaction
from ...tags.models import SubscriberTag
from ..counters.store_statistics import by_status_of_statistics
from ..models import Subscriber
from .plan import Plan, plan_of
from .store_matches import select_ids
from .store_pages import CACHED_STATEMENTS, planned_with_numbers

MATCHES = "matches"
_ONE, _LINK = Subscriber.alias("counted"), SubscriberTag.alias("counted_link")


class Totals(NamedTuple):
    """The numbers of matches by status, and by the ID of a tag."""

    by_status: dict[int, int]
    by_tag: dict[str, int]


def count_groups(account_id: str, tree: Any, tx: Transaction, *, with_tags: bool) -> Totals:
    """Returns the numbers of matches. At most five statements."""
    by_status = None if with_tags else by_status_of_statistics(account_id, tree, tx)
    if by_status is not None:
        return Totals(by_status, {})
    _, plan, values = planned_with_numbers(account_id, plan_of(tree), tx)
    rows = tx.all(_select_groups(account_id, plan, with_tags), account_id=account_id, **values)
    return Totals(
        {int(name): count for is_tag, name, count in rows if not is_tag},
        {name: count for is_tag, name, count in rows if is_tag},
    )


@cached_by_account(CACHED_STATEMENTS)
def _select_groups(plan: Plan, with_tags: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        # Both groups read the same rows, which are found once.
        matches = select_ids(plan, dialect).cte(MATCHES, columns=["id"], materialized=True)

        def grouped(table: Any, id_: Field, column: Field, is_tag: str) -> Select:
            # A cross join, because SQLite could otherwise read the table of all subscribers.
            columns = [SQL(is_tag), column.cast("TEXT"), fn.COUNT(SQL("*"))]
            query = Select([Join(matches, table, JOIN.CROSS)], columns)
            query = query.where((table.account_id == param("account_id")) & (id_ == matches.c.id))
            return query.group_by(column)

        query = grouped(_ONE, _ONE.id, _ONE.status, "0")
        if with_tags:
            tagged = grouped(_LINK, _LINK.subscriber_id, _LINK.tag_id, "1")
            return (query + tagged).with_cte(matches)
        return query.with_cte(matches)

    return Statement(build)
