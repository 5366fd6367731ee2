"""Declares the fields of a subscriber.

`SubscriberRow` is the one declaration. The selected columns, the response message, the JSON of
events, the columns of CSV files, and the text that clients set all follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Annotated, Any, NamedTuple, get_type_hints

from ...values.clock import iso8601
from ...values.texts import json_name
from ..custom_fields.rules import as_json


class Status(IntEnum):
    """The subscription status; the numbers of Subscriber.Status."""

    UNCONFIRMED = 1
    CONFIRMED = 2
    UNSUBSCRIBED = 3
    BOUNCED = 4
    COMPLAINED = 5


_STATUS_NAMES = {int(status): status.name for status in Status}


class Returned(NamedTuple):
    """Marks an attribute of a row that the API returns.

    `to_json` converts the stored value. `max_length` marks text that clients set. `full` marks
    an attribute that only the view FULL has, absent if it is None.
    """

    to_json: Callable[[Any], Any] = str
    max_length: int = 0
    full: bool = False


def _revision_time(revision: int) -> str:
    return iso8601(revision // 1000)


class SubscriberRow(NamedTuple):
    """A stored subscriber.

    Each attribute is the column of the same name, except `tags`, the names of the tags in
    order, and `values`, the values of custom fields by key. Timestamps are in milliseconds.
    The order of the attributes is the order of JSON members and CSV columns.
    """

    id: Annotated[str, Returned()]
    email: Annotated[str, Returned()]
    email_key: str
    first_name: Annotated[str, Returned(max_length=100)]
    last_name: Annotated[str, Returned(max_length=100)]
    status: Annotated[int, Returned(_STATUS_NAMES.__getitem__)]
    revision: Annotated[int, Returned(_revision_time, full=True)]
    status_changed_at: Annotated[int | None, Returned(iso8601, full=True)]
    confirmed_at: Annotated[int | None, Returned(iso8601, full=True)]
    unsubscribed_at: Annotated[int | None, Returned(iso8601, full=True)]
    consent_source: Annotated[str | None, Returned(full=True)]
    consent_ip: Annotated[str | None, Returned(full=True)]
    consent_at: Annotated[int | None, Returned(iso8601, full=True)]
    status_revision: int
    tags: Annotated[tuple[str, ...], Returned(list)]
    created_at: Annotated[int, Returned(iso8601)]
    values: Mapping[str, Any]

    def as_json(self, *, full: bool = False) -> dict[str, Any]:
        """Returns the subscriber as the API returns it, in the view BASIC or FULL."""
        subscriber = basic_json(self)
        if full:
            self._add_full(subscriber)
        return subscriber

    def _add_full(self, subscriber: dict[str, Any]) -> None:
        for field in ADDED_BY_FULL:
            value = getattr(self, field.name)
            if value is None:
                continue
            key = field.name.removeprefix("consent_")
            if key == field.name:
                subscriber[field.json_name] = field.to_json(value)
            else:
                subscriber.setdefault("consent", {})[key] = field.to_json(value)


class Field(NamedTuple):
    """A field that the API returns, by its name in rows and messages."""

    name: str
    json_name: str
    to_json: Callable[[Any], Any]
    max_length: int
    full: bool


def _declared() -> Iterator[Field]:
    for name, hint in get_type_hints(SubscriberRow, include_extras=True).items():
        for returned in getattr(hint, "__metadata__", ()):
            # The time of the last change is stored as its revision.
            yield Field(name, json_name("updated_at" if name == "revision" else name), *returned)


# The fields of the view BASIC, and those that FULL adds.
FIELDS = tuple(field for field in _declared() if not field.full)
ADDED_BY_FULL = tuple(field for field in _declared() if field.full)
# The text that clients set when they create, update or import a subscriber: its maximum length
# by field name.
PROFILE = {field.name: field.max_length for field in FIELDS if field.max_length}


def _compiled() -> Callable[[SubscriberRow], dict[str, Any]]:
    """Compiles a function that returns the JSON of the view BASIC.

    A loop over the fields takes four times as long (`page_of_20` in `make bench`).
    """
    members = [
        f"{field.json_name!r}: {'' if field.to_json is str else field.name}(row.{field.name})"
        for field in FIELDS
    ]
    functions = {field.name: field.to_json for field in FIELDS} | {"custom_fields": _custom_fields}
    basic = ", ".join(members)
    text = (
        f"lambda row: {{{basic}, 'customFields': custom_fields(row.values)}} if row.values"
        f" else {{{basic}}}"
    )
    return eval(text, functions)  # type: ignore[no-any-return]  # noqa: S307 - no input


def _custom_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: as_json(values[key]) for key in sorted(values)}


basic_json = _compiled()
