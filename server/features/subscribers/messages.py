"""Fills the protobuf messages of subscribers from stored rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from roster.v1 import subscribers_pb2 as pb
from roster.v1.rows_pb2 import Row

from ...rpc.messages import JsonResponse, check_page, timestamp
from .fields import ADDED_BY_FULL, FIELDS, SubscriberRow, basic_json
from .linked import SubscriberUrls
from .query.request import BASIC, Selected
from .row_writer import Result
from .rules import MAX_REPEATED

# Fields that are copied from a row unchanged.
_COPIED = [
    field.name
    for field in FIELDS
    if not field.is_optional and field.name not in ("tags", "created_at")
]
# Fields that can be absent, in both views and in FULL.
_OPTIONAL = [field.name for field in FIELDS if field.is_optional]
_OPTIONAL_IN_FULL = [field.name for field in ADDED_BY_FULL if field.name != "revision"]
# Up to this many tags and values of at most 1,000 characters, a page is within MAX_MESSAGE_BYTES.
_MAX_UNCHECKED_ITEMS = 800


class SubscriberResponse(JsonResponse):
    """A response that contains one subscriber. `message_type` is the type of its message.

    The gateway reads `etag`.
    """

    __slots__ = ("_message_type", "_row", "_selected")

    def __init__(
        self,
        message_type: type[pb.CreateSubscriberResponse | pb.GetSubscriberResponse],
        row: SubscriberRow,
        selected: Selected = BASIC,
    ) -> None:
        self._message_type = message_type
        self._row = row
        self._selected = selected

    @property
    def etag(self) -> str:
        return self._row.etag

    def to_message(self) -> pb.CreateSubscriberResponse | pb.GetSubscriberResponse:
        message = self._message_type(etag=self.etag)
        fill(message.subscriber, self._row, full=self._selected.is_full)
        self._selected.clear_others([message.subscriber])
        return message

    def to_json(self) -> dict[str, Any]:
        return {"subscriber": self._row.as_json(full=self._selected.is_full)}


class SubscribersResponse(JsonResponse):
    """The response with a page of subscribers. The gateway reads `next_page_token`."""

    __slots__ = ("_limit", "_number", "_rows", "_selected", "_total", "next_page_token")

    def __init__(
        self,
        rows: Sequence[SubscriberRow],
        selected: Selected,
        *,
        total: int | None,
        number: int,
        limit: int,
        next_page_token: str = "",
    ) -> None:
        """Raises ValidationError if the message would be too large."""
        self._rows = rows
        self._selected = selected
        self._total = total
        self._number = number
        self._limit = limit
        self.next_page_token = next_page_token
        if sum([len(row.tags) + len(row.values) for row in rows]) > _MAX_UNCHECKED_ITEMS:
            check_page(self.to_message())

    def to_message(self) -> pb.ListSubscribersResponse:
        message = pb.ListSubscribersResponse(
            total=self._total,
            page=self._number,
            limit=self._limit,
            next_page_token=self.next_page_token,
        )
        fill_all(message.subscribers, self._rows, full=self._selected.is_full)
        self._selected.clear_others(message.subscribers)
        return message

    def to_json(self) -> dict[str, Any]:
        return {
            "subscribers": [row.as_json(full=True) for row in self._rows]
            if self._selected.is_full
            else list(map(basic_json, self._rows)),
            **({} if self._total is None else {"total": self._total}),
            "page": self._number,
            "limit": self._limit,
        }


def fill_all(messages: Any, rows: Sequence[SubscriberRow], *, full: bool) -> None:
    """Adds a message for each row to a repeated field."""
    add = messages.add
    for row in rows:
        fill(add(), row, full=full)


def fill(message: pb.Subscriber, row: SubscriberRow, *, full: bool) -> None:
    """Fills a message in place, because copying it takes as long as filling it."""
    for name in _COPIED:
        setattr(message, name, getattr(row, name))
    if row.tags:
        message.tags.extend(row.tags)
    created_at = message.created_at
    created_at.seconds, milliseconds = divmod(row.created_at, 1000)
    created_at.nanos = milliseconds * 1_000_000
    if row.values:
        message.custom_fields.update(cast("dict[str, Any]", row.values))
    if _OPTIONAL:
        _fill_optional(message, row, _OPTIONAL)
    if full:
        message.updated_at.CopyFrom(timestamp(row.revision // 1000))
        _fill_optional(message, row, _OPTIONAL_IN_FULL)


def _fill_optional(message: pb.Subscriber, row: SubscriberRow, names: Iterable[str]) -> None:
    """Fills the fields that are not None. Fields `consent_*` are in the message `consent`."""
    for name in names:
        value = getattr(row, name)
        if value is None:
            continue
        target: Any = message
        message_field = name.removeprefix("consent_")
        if message_field != name:
            target = message.consent
        if type(target).DESCRIPTOR.fields_by_name[message_field].message_type is None:
            setattr(target, message_field, value)
        else:
            getattr(target, message_field).CopyFrom(timestamp(value))


def fill_urls(message: pb.Subscriber, urls: SubscriberUrls) -> None:
    """Fills the URLs of the subscriber's links."""
    if urls.confirm_url is not None:
        message.confirm_url = urls.confirm_url
    message.unsubscribe_url = urls.unsubscribe_url


def bulk_response(
    rows: Sequence[pb.BulkSubscriber], results: Sequence[Result], *, with_results: bool
) -> pb.BulkCreateSubscribersResponse:
    response = pb.BulkCreateSubscribersResponse()
    for index, (row, result) in enumerate(zip(rows, results, strict=True)):
        reason = field = None
        if (error := result.row_error) is not None:
            reason = Row.Reason.ValueType(error.failure)
            field = error.field and error.field[:MAX_REPEATED]
            response.failed.add(index=index, email=row.email[:MAX_REPEATED], reason=reason)
        if with_results:
            response.results.add(
                index=index,
                outcome=Row.Outcome.ValueType(result.outcome),
                id=result.subscriber_id or None,
                reason=reason,
                field=field,
            )
    return response
