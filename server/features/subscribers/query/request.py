"""Reads the parameters of requests that select subscribers, as one tree of conditions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

from roster.v1 import subscribers_pb2 as pb

from ....rpc.caller import account_id
from ....rpc.errors import Detail, SegmentNotFound, ValidationError, invalid
from ....rpc.messages import created_range, microseconds
from ....rpc.paging import PageToken, page_of, parse_page_token
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.clock import Clock
from ....values.emails import key_prefix
from ....values.ids import ID_LENGTH, checked_id, is_id
from ....values.texts import caseless_key, json_name
from ...custom_fields.rules import FieldTypes
from ...custom_fields.store import types as custom_field_types
from ..fields import SubscriberRow
from ..rules import check_email, search_text
from .conditions import conditions_of, needs_types, search_of
from .plan import COUNT_ALL, Counting, Order, PagePosition, Planned, plan_of, read_in_order
from .store_pages import SubscriberPage
from .syntax import check_quotes, parse
from .tree import EVERYONE, And, Condition, Kind, joined, range_of

ListRequest = pb.ListSubscribersRequest | pb.ExportSubscribersRequest
# The fields that a read mask can contain. Only exports have the URLs.
_MASKABLE = frozenset(field.name for field in pb.Subscriber.DESCRIPTOR.fields) - {
    "confirm_url",
    "unsubscribe_url",
}
# The fields that only the view FULL has.
_FULL_PATHS = {"updated_at", "status_changed_at", "confirmed_at", "unsubscribed_at", "consent"}


_ORDERS = {
    "": Order.CREATED,
    "createdAt": Order.CREATED,
    "updatedAt": Order.UPDATED,
    "email": Order.EMAIL,
    "lastName": Order.LAST_NAME,
    "statusChangedAt": Order.STATUS_CHANGED,
}
# The keys in page tokens, which follow the ID, and what they look like. Revisions are apart.
_KEYS_OF_ROWS: dict[Order, Callable[[SubscriberRow], Any]] = {
    Order.EMAIL: lambda row: row.email_key,
    Order.LAST_NAME: lambda row: search_text(row.last_name),
    Order.STATUS_CHANGED: lambda row: row.status_changed_at,
}
_KEY_SHAPES = {
    Order.EMAIL: r"[^\0]+",
    Order.LAST_NAME: r"[^\0]*",
    Order.STATUS_CHANGED: r"(-?\d{1,15})?",
}
_COUNTINGS = {
    pb.ListSubscribersRequest.TOTAL_UNSPECIFIED: COUNT_ALL,
    pb.ListSubscribersRequest.EXACT: COUNT_ALL,
    pb.ListSubscribersRequest.NONE: Counting(0),
    pb.ListSubscribersRequest.AT_MOST_10000: Counting(10_000),
}


class SegmentFilters(Protocol):
    """The filters of segments."""

    def filter_of(self, account_id: str, segment_id: str, tx: Transaction) -> str: ...


class FilterExpressions:
    """Reads the conditions of requests of the caller's account, or of the one that is given."""

    def __init__(
        self,
        database: Database,
        segments: SegmentFilters,
        clock: Clock,
        account_of: Callable[[], str] = account_id,
    ) -> None:
        self._database = database
        self._segments = segments
        self._clock = clock
        self._account_of = account_of

    async def list_query(self, request: pb.ListSubscribersRequest) -> ListQuery:
        """Returns the query of a request.

        Raises ValidationError for an invalid address, the errors of `read`, and ValidationError for
        a read mask or the token of another list.
        """
        selected = selected_fields(request)
        filters, in_key = await self._filters_of(request)
        (order_by, descending), counting = _order_of(request), _COUNTINGS[request.total]
        page = page_of(request)
        list_key: tuple[Any, ...] = (in_key, order_by, descending)
        position = PagePosition(page.limit, page.offset, descending=descending, order_by=order_by)
        number = page.number
        if counting.up_to != COUNT_ALL.up_to:
            list_key = (*list_key, counting.up_to)
        if request.page_token:
            is_key = partial(_is_position, order_by)
            token = parse_page_token(request.page_token, repr(list_key), is_key=is_key)
            position = _position_after(token, position)
            number, counting = token.page, counting._replace(known=token.total)
        return ListQuery(plan_of(filters.tree()), position, number, list_key, selected, counting)

    async def export_tree(self, request: pb.ExportSubscribersRequest) -> Any:
        """Returns the conditions of an export. Raises the errors of `read`."""
        filters, _ = await self._filters_of(request)
        return read_in_order(filters.tree())

    async def _filters_of(self, request: ListRequest) -> tuple[Filter, Filter]:
        """Returns the parameters of a request, and those that identify its list.

        In these, `daysAgo` is before 1970, so that they are the same for all pages.
        """
        texts = await self.texts(request.filter, request.segment_id)
        if not texts:
            filters = Filter.of(request)
            return filters, filters
        conditions = partial(self.conditions, texts, request.segment_id)
        filters = Filter.of(request, await conditions())
        if not any("daysAgo" in text for text in texts):
            return filters, filters
        return filters, filters._replace(expression=await conditions(now=0))

    async def read(self, text: str, segment_id: str, q: str = "") -> Any:
        """Returns the conditions of a filter, of a segment and of a search.

        Raises ValidationError for `filter` or `segmentId`, SegmentNotFound or SegmentWithoutFilter.
        """
        texts = await self.texts(text, segment_id)
        return await self.conditions(texts, segment_id, q) if texts or q else EVERYONE

    async def texts(self, text: str, segment_id: str) -> list[str]:
        """Returns the filter and that of the segment, without empty ones.

        Raises ValidationError for typographic quotes in the filter.
        """
        check_quotes(text)
        texts = [text] if text else []
        if segment_id:
            segment_id = checked_id(segment_id, SegmentNotFound)
            find = partial(self._segments.filter_of, self._account_of(), segment_id)
            texts.append(await self._database.read(find))
        return texts

    async def conditions(
        self, texts: Sequence[str], segment_id: str, q: str = "", *, now: int | None = None
    ) -> Any:
        """Returns the conditions of filters and a search, which must all match.

        The last filter is that of the segment. `daysAgo` is before `now`, by default the current
        time. Raises ValidationError for `filter`, or for `segmentId` if its filter is no longer
        valid.
        """
        parts = [search_of(q)] if q else []
        try:
            return joined(And, [await self._conditions(texts, now), *parts])
        except ValidationError as error:
            if not segment_id:
                raise
            details = error.details
        if len(texts) > 1:
            await self._conditions(texts[:-1], now)
        raise ValidationError(
            [
                Detail("segmentId", each.code, f"is no longer valid: filter {each.message}")
                for each in details
            ]
        )

    async def _conditions(self, texts: Sequence[str], now: int | None) -> Any:
        tree, types = joined(And, [parse(text) for text in texts]), FieldTypes()
        if needs_types(tree):
            types = await self._database.read(partial(custom_field_types, self._account_of()))
        return conditions_of(tree, types, self._clock() if now is None else now)


def _order_of(request: pb.ListSubscribersRequest) -> tuple[Order, bool]:
    """Returns the order of a list, and whether it is descending.

    Raises ValidationError for `order` if it contradicts the direction in `order_by`.
    """
    name, _, direction = request.order_by.partition(" ")
    if direction and request.order not in ("", direction):
        message = f"must be {direction}, as in orderBy, or absent"
        raise invalid("order", "INVALID_VALUE", message)
    return _ORDERS[name], "desc" in (direction, request.order)


def _is_position(order_by: Order, text: str) -> bool:
    """Whether the text is an ID, followed by a key of the order."""
    is_shape = re.fullmatch(_KEY_SHAPES.get(order_by, ""), text[ID_LENGTH:], re.ASCII | re.DOTALL)
    return is_id(text[:ID_LENGTH]) and is_shape is not None


def _position_after(token: PageToken, position: PagePosition) -> PagePosition:
    after, key = token.after[:ID_LENGTH], token.after[ID_LENGTH:]
    after_key: Any = key or None
    if position.order_by is Order.UPDATED:
        after_key = token.revision
    elif position.order_by is Order.STATUS_CHANGED and key:
        after_key = int(key)
    return position._replace(offset=0, after=after, after_key=after_key)


class ListQuery(NamedTuple):
    """The query of a list request; `list_key` identifies the list, on any of its pages."""

    planned: Planned
    position: PagePosition
    page: int
    list_key: tuple[Any, ...]
    selected: Selected
    counting: Counting

    def next_page_token(self, found: SubscriberPage) -> str:
        """Returns the token of the page after this one, or an empty text after the last."""
        if not found.more:
            return ""
        last, order_by = found.rows[-1], self.position.order_by
        has_key = order_by in _KEYS_OF_ROWS and not found.is_after_keys
        key = _KEYS_OF_ROWS[order_by](last) if has_key else ""
        revision = last.revision if order_by is Order.UPDATED else 0
        token = PageToken(f"{last.id}{key}", self.page + 1, revision, found.total)
        return token.text(repr(self.list_key))


class Filter(NamedTuple):
    """The parameters of a request that select subscribers; None is no condition.

    `updated_after`, `updated_before` and `end_id` are exclusive. Page tokens contain a digest of
    the representation of a filter. Another name of the class or a field would invalidate them.
    """

    status: int | None = None
    tag_key: str | None = None
    email_key: str | None = None
    prefix: str | None = None
    folded_prefix: str | None = None
    first_id: str | None = None
    end_id: str | None = None
    updated_after: int | None = None
    updated_before: int | None = None
    expression: Any = None

    @classmethod
    def of(cls, request: ListRequest, expression: Any = None) -> Filter:
        """Returns the parameters of a request. Raises ValidationError for an invalid address."""
        after = before = email_key = prefix = folded_prefix = None
        if request.HasField("updated_after"):
            after = microseconds(request.updated_after)
        if request.HasField("updated_before"):
            before = microseconds(request.updated_before, up=True)
        if isinstance(request, pb.ListSubscribersRequest) and request.email:
            email_key = check_email(request.email).key
        if request.q:
            prefix, folded_prefix = key_prefix(request.q), search_text(request.q)
        return cls(
            request.status or None,
            caseless_key(request.tag) if request.tag else None,
            email_key,
            prefix,
            folded_prefix,
            *created_range(request),
            after,
            before,
            expression,
        )

    def conditions(self) -> Iterator[Any]:
        """Yields the conditions of the parameters that are set."""
        after = None if self.updated_after is None else self.updated_after + 1
        for value, kind, operator, column in (
            (self.status, Kind.COLUMN, "=", "status"),
            (self.tag_key, Kind.TAG, "=", ""),
            (self.first_id, Kind.COLUMN, ">=", "id"),
            (self.end_id, Kind.COLUMN, "<", "id"),
            (after, Kind.COLUMN, ">=", "revision"),
            (self.updated_before, Kind.COLUMN, "<", "revision"),
            (self.email_key, Kind.EMAIL, "=", ""),
        ):
            if value is not None:
                yield Condition(kind, operator, (value,), column)
        if self.prefix is not None and self.folded_prefix is not None:
            ranges = (*range_of(self.prefix), *range_of(self.folded_prefix))
            yield Condition(Kind.SEARCH, "prefix", ranges)
        if self.expression is not None:
            yield self.expression

    def tree(self) -> Any:
        conditions = [*self.conditions()]
        return joined(And, conditions) if conditions else EVERYONE


class Selected(NamedTuple):
    """The fields that a request selects. `names` is None for all fields of the view."""

    names: frozenset[str] | None
    is_full: bool

    def clear_others(self, messages: Iterable[pb.Subscriber]) -> None:
        """Clears the fields of messages that are not selected."""
        if self.names is not None:
            for message in messages:
                for field, _ in message.ListFields():
                    if field.name not in self.names:
                        message.ClearField(field.name)  # type: ignore[arg-type]


# All fields of a view.
BASIC, FULL = Selected(None, is_full=False), Selected(None, is_full=True)


def selected_fields(request: pb.GetSubscriberRequest | pb.ListSubscribersRequest) -> Selected:
    """Returns the fields of the view and the read mask. Raises ValidationError for the mask."""
    is_full = request.view == pb.Subscriber.FULL
    # Reading an absent message would create it.
    paths = frozenset(request.read_mask.paths) if request.HasField("read_mask") else None
    if not paths or "*" in paths:
        return FULL if is_full else BASIC
    unknown = sorted(paths - _MASKABLE)
    if unknown:
        details = [
            Detail("readMask", "INVALID_VALUE", f"{json_name(path)} is not a field of a subscriber")
            for path in unknown
        ]
        raise ValidationError(details)
    return Selected(paths, is_full or not paths.isdisjoint(_FULL_PATHS))
