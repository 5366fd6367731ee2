"""Selects the IDs and the number of the matches of a plan."""

from __future__ import annotations

from typing import Any

from peewee import SQL, Field, ModelSelect, Node, fn

from ....storage.statements import Dialect, param
from ...tags.models import SubscriberTag
from ..counters.store_pages import select_total
from ..counters.store_statistics import select_with
from .plan import Plan
from .store_conditions import (
    SUBSCRIBERS,
    SUBSCRIBERS_WITHOUT_INDEX,
    SubscriberColumns,
    condition_of,
    select_tagged,
)
from .store_sets import count_matching, select_matching
from .tree import And, finds_few, is_bound, is_search, is_tag, joined

_TAGGED = SubscriberTag.alias("tagged")


def select_ids(plan: Plan, dialect: Dialect, *, descending: bool = False) -> Any:
    """Selects the IDs of the matches in order."""
    if plan.is_of_sets:
        return select_matching(plan.tree, plan.ids, dialect, descending=descending)
    query, id_ = select_checked(plan, dialect)
    return query.order_by(id_.desc() if descending else id_)


def select_checked(plan: Plan, dialect: Dialect) -> tuple[ModelSelect[Any], Field]:
    """Selects the IDs of the matches of conditions that are checked, and returns their column.

    A tag scans its subscribers, which are in the order of IDs. Changes within a range of time are
    sorted: the index of IDs would be scanned up to the first match, which can be the newest
    subscriber.
    """
    one, parts, rows = SUBSCRIBERS.table, [*plan.parts], SUBSCRIBERS
    first = next(filter(is_tag, parts[:1] if plan.is_looked_up else parts), None)
    if first is not None:
        parts.remove(first)
        id_, query = select_tagged(first, dialect, _TAGGED)
        rows = SubscriberColumns("tagged", one, id_)
        if not all(map(is_search, parts)):
            on = (one.account_id == param("account_id")) & (one.id == id_)
            query = query.join(one, on=on)
    else:
        if parts and all(map(is_bound, parts)):
            rows = SUBSCRIBERS_WITHOUT_INDEX
        query = one.select(one.id).where(one.account_id == param("account_id"))
    is_looked_up = plan.is_looked_up
    if is_looked_up and first is None:
        query = query.where(condition_of(parts.pop(0), rows, dialect))
    if parts and (is_looked_up or finds_few(plan.tree)):
        parts = [joined(And, parts)]
    for part in parts:
        is_required = not is_looked_up
        query = query.where(
            condition_of(part, rows, dialect, is_required=is_required, is_looked_up=is_looked_up)
        )
    return plan.ids.add_to(query, rows.id), rows.id


def select_count(plan: Plan, dialect: Dialect) -> Node:
    """Selects the number of matches."""
    if plan.is_everyone:
        return select_total()
    if plan.has_stored_total:
        return select_with(plan.tree)
    if plan.is_of_sets:
        stored = None if any(plan.ids) else select_total()
        return count_matching(plan.tree, plan.ids, dialect, stored)
    ids, _ = select_checked(plan, dialect)
    return ids.select(fn.COUNT(SQL("*")))
