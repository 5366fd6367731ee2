"""Counts the matches of a tree by status and by tag.

The matches are found once. Totals of conditions on statuses and one tag follow from statistics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import SQL, fn

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
        count = fn.COUNT(SQL("*"))
        query = _ONE.select(SQL("0"), _ONE.status.cast("TEXT"), count).join(
            matches, on=(_ONE.id == matches.c.id)
        )
        query = query.where(_ONE.account_id == param("account_id")).group_by(_ONE.status)
        if with_tags:
            links = _LINK.select(SQL("1"), _LINK.tag_id, count).join(
                matches, on=(_LINK.subscriber_id == matches.c.id)
            )
            links = links.where(_LINK.account_id == param("account_id")).group_by(_LINK.tag_id)
            return (query + links).with_cte(matches)
        return query.with_cte(matches)

    return Statement(build)
