"""Translates list and export requests to filters and page positions."""

from __future__ import annotations

from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb

from ...rpc.messages import created_range, microseconds
from ...rpc.paging import PageToken, page_of, parse_page_token
from ...values.emails import key_prefix
from ...values.texts import caseless_key
from .fields import SubscriberRow
from .filters.expression import FilterExpression
from .rules import check_email, search_text
from .store_filter import Filter, with_expression
from .store_page_statements import Order
from .store_paging import PagePosition

ListRequest = pb.ListSubscribersRequest | pb.ExportSubscribersRequest


class ListQuery(NamedTuple):
    """The query of a list request; `list_key` identifies the list, on any of its pages."""

    filter: Filter
    position: PagePosition
    page: int
    list_key: str


def list_query(
    request: pb.ListSubscribersRequest, expression: FilterExpression | None = None
) -> ListQuery:
    """Returns the query of a request.

    Raises ValidationError for an invalid address, or a token of another list.
    """
    page, descending = page_of(request), request.order == "desc"
    filters = export_filter(request, expression)
    if request.email:
        filters = filters._replace(email_key=check_email(request.email).key)
    if request.q:
        prefix, folded_prefix = key_prefix(request.q), search_text(request.q)
        filters = filters._replace(prefix=prefix, folded_prefix=folded_prefix)
    order_by = Order.UPDATED if request.order_by == "updatedAt" else Order.CREATED
    list_key = repr((filters, order_by, descending))
    position = PagePosition(page.limit, page.offset, descending=descending, order_by=order_by)
    number = page.number
    if request.page_token:
        token = parse_page_token(request.page_token, list_key)
        position = position._replace(offset=0, after=token.after, after_revision=token.revision)
        number = token.page
    return ListQuery(filters, position, number, list_key)


def export_filter(request: ListRequest, expression: FilterExpression | None = None) -> Filter:
    """Returns the filters of an export, which lists have too."""
    first_id, end_id = created_range(request)
    filters = Filter(
        status=request.status or None,
        tag_key=caseless_key(request.tag) if request.tag else None,
        first_id=first_id,
        end_id=end_id,
        updated_after=_revision(request, "updated_after"),
        updated_before=_revision(request, "updated_before", up=True),
    )
    return filters if expression is None else with_expression(filters, expression)


def _revision(request: ListRequest, name: str, *, up: bool = False) -> int | None:
    """Returns the revision of a time, or None if the field is not set."""
    if not request.HasField(name):  # type: ignore[arg-type]
        return None
    return microseconds(getattr(request, name), up=up)


def next_page_token(query: ListQuery, last: SubscriberRow) -> str:
    """Returns the token of the page after this subscriber."""
    revision = last.revision if query.position.order_by is Order.UPDATED else 0
    return PageToken(last.id, query.page + 1, revision).text(query.list_key)
