"""Reads the parameters of requests that select subscribers, as one tree of conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from roster.v1 import subscribers_pb2 as pb

from ....rpc.caller import account_id
from ....rpc.errors import Detail, SegmentNotFound, ValidationError
from ....rpc.messages import created_range, microseconds
from ....rpc.paging import PageToken, page_of, parse_page_token
from ....storage.database import Database, Work
from ....storage.shared_work import OneStatement
from ....storage.transaction import Transaction
from ....values.emails import key_prefix
from ....values.ids import checked_id
from ....values.texts import caseless_key
from ...custom_fields.store import types as custom_field_types
from ..fields import SubscriberRow
from ..rules import check_email, search_text
from .conditions import conditions_of, uses_custom_fields
from .store_pages import SubscriberPage, count_part, page_and_parts
from .store_plan import Order, PagePosition, Plan, needs_statistics, plan_of
from .syntax import parse
from .tree import EVERYONE, And, Condition, Kind, all_of, joined, range_of

Found = tuple[SubscriberPage, list[Plan]]
ListRequest = pb.ListSubscribersRequest | pb.ExportSubscribersRequest


class SegmentFilters(Protocol):
    """The filters of segments."""

    def filter_of(self, account_id: str, segment_id: str, tx: Transaction) -> str: ...


class ListQuery(NamedTuple):
    """The query of a list request; `list_key` identifies the list, on any of its pages."""

    plan: Plan
    position: PagePosition
    page: int
    list_key: str

    async def read(self, database: Database, account_id: str) -> SubscriberPage:
        """Returns the page. Its total can include changes later than its rows."""
        plan, position = self.plan, self.position
        work: Work[Found] = partial(page_and_parts, account_id, plan, position)
        # The statistics take statements of their own.
        if not needs_statistics(plan) and plan.has_one_statement(position):
            work = OneStatement(work, plan.is_short(position))
        found, parts = await database.read(work)
        if not parts:
            return found
        counts = [partial(count_part, account_id, part) for part in parts]
        return found._replace(total=sum(await database.read_parts(counts)))

    def next_page_token(self, last: SubscriberRow) -> str:
        """Returns the token of the page after this subscriber."""
        revision = last.revision if self.position.order_by is Order.UPDATED else 0
        return PageToken(last.id, self.page + 1, revision).text(self.list_key)


def parameters(request: ListRequest) -> Iterator[Condition]:
    """Yields the conditions of the parameters of a request, except its filter and segment.

    Raises ValidationError for an invalid address.
    """
    if request.status:
        yield Condition(Kind.COLUMN, "=", (request.status,), "status")
    if request.tag:
        yield Condition(Kind.TAG, "=", (caseless_key(request.tag),))
    first_id, end_id = created_range(request)
    if first_id is not None:
        yield Condition(Kind.COLUMN, ">=", (first_id,), "id")
    if end_id is not None:
        yield Condition(Kind.COLUMN, "<", (end_id,), "id")
    if request.HasField("updated_after"):
        revision = microseconds(request.updated_after) + 1
        yield Condition(Kind.COLUMN, ">=", (revision,), "revision")
    if request.HasField("updated_before"):
        revision = microseconds(request.updated_before, up=True)
        yield Condition(Kind.COLUMN, "<", (revision,), "revision")
    if isinstance(request, pb.ListSubscribersRequest):
        if request.email:
            yield Condition(Kind.EMAIL, "=", (check_email(request.email).key,))
        if request.q:
            yield search(key_prefix(request.q), search_text(request.q))


def search(prefix: str, folded_prefix: str) -> Condition:
    """Returns the condition that an address or a name starts with the text of a search."""
    return Condition(Kind.SEARCH, "prefix", (*range_of(prefix), *range_of(folded_prefix)))


class FilterExpressions:
    """Reads the conditions of requests of the caller's account."""

    def __init__(self, database: Database, segments: SegmentFilters) -> None:
        self._database = database
        self._segments = segments

    async def list_query(self, request: pb.ListSubscribersRequest) -> ListQuery:
        """Returns the query of a request.

        Raises the errors of `tree_of`, and ValidationError for a token of another list.
        """
        tree = await self.tree_of(request)
        page, descending = page_of(request), request.order == "desc"
        order_by = Order.UPDATED if request.order_by == "updatedAt" else Order.CREATED
        list_key = repr((tree, order_by, descending))
        position = PagePosition(page.limit, page.offset, descending=descending, order_by=order_by)
        plan = plan_of(tree)
        if not request.page_token:
            return ListQuery(plan, position, page.number, list_key)
        token = parse_page_token(request.page_token, list_key)
        position = position._replace(offset=0, after=token.after, after_revision=token.revision)
        return ListQuery(plan, position, token.page, list_key)

    async def tree_of(self, request: ListRequest) -> Any:
        """Returns the conditions of a list or export.

        Raises ValidationError for an invalid address, and the errors of `read`.
        """
        filters = await self.read(request.filter, request.segment)
        return all_of(*parameters(request), filters)

    async def read(self, text: str, segment: str) -> Any:
        """Returns the conditions of a filter and of a segment.

        Raises ValidationError for `filter` or `segment`, SegmentNotFound or SegmentWithoutFilter.
        """
        texts = await self.texts(text, segment)
        return await self.conditions(texts, segment) if texts else EVERYONE

    async def texts(self, text: str, segment: str) -> list[str]:
        """Returns the filter and that of the segment, without empty ones."""
        texts = [text] if text else []
        if segment:
            texts.append(await self._database.read(partial(self.filter_of, account_id(), segment)))
        return texts

    def filter_of(self, account_id: str, segment: str, tx: Transaction) -> str:
        """Returns the filter of a segment. Raises SegmentNotFound or SegmentWithoutFilter."""
        return self._segments.filter_of(account_id, checked_id(segment, SegmentNotFound), tx)

    async def conditions(self, texts: Sequence[str], segment: str) -> Any:
        """Returns the conditions of filters that must all match; the last is that of the segment.

        Raises ValidationError for `filter`, or for `segment` if its filter is no longer valid.
        """
        try:
            return await self._conditions(texts)
        except ValidationError as error:
            if not segment:
                raise
            details = error.details
        if len(texts) > 1:
            await self._conditions(texts[:-1])
        raise ValidationError(
            [
                Detail("segment", each.code, f"is no longer valid: filter {each.message}")
                for each in details
            ]
        )

    async def _conditions(self, texts: Sequence[str]) -> Any:
        tree, types = joined(And, [parse(text) for text in texts]), {}
        if uses_custom_fields(tree):
            types = await self._database.read(partial(custom_field_types, account_id()))
        return conditions_of(tree, types)
