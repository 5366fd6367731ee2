"""Reads pages of a list, and counts the matches of slow filters in parts."""

from __future__ import annotations

from functools import partial

from ...storage.database import Database, Work
from ...storage.shared_work import OneStatement
from .store_filter import Filter
from .store_paging import (
    PagePosition,
    SubscriberPage,
    count_part,
    has_one_statement,
    is_short,
    page_and_parts,
)

Found = tuple[SubscriberPage, list[Filter]]


async def read_page(
    database: Database, account_id: str, filters: Filter, position: PagePosition
) -> SubscriberPage:
    """Returns a page. Its total can include changes that were made after its rows were read."""
    work: Work[Found] = partial(page_and_parts, account_id, filters, position)
    # The plan for a filter expression takes statements of its own.
    if not filters.expression and has_one_statement(filters, position):
        work = OneStatement(work, is_short(filters, position))
    found, parts = await database.read(work)
    if not parts:
        return found
    counts = [partial(count_part, account_id, part) for part in parts]
    return found._replace(total=sum(await database.read_parts(counts)))
