"""Declares the fields of a subscriber.

`SubscriberRow` is the one declaration. The selected columns, the response message, the JSON of
events, the columns of CSV files, the fields that clients set, and the fields of filters follow
from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum, IntEnum
from typing import Annotated, Any, NamedTuple, get_type_hints
from zlib import crc32

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


class Kind(Enum):
    """The type of a field that clients set.

    A TEXT is empty without a value. The others are absent: NULL in the table, `optional` in the
    messages. A TIME is in milliseconds, a FLAG 1 or 0.
    """

    TEXT = "text"
    NUMBER = "number"
    TIME = "time"
    FLAG = "flag"


_TO_JSON: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TEXT: str,
    Kind.NUMBER: float,
    Kind.TIME: iso8601,
    Kind.FLAG: bool,
}


class Returned(NamedTuple):
    """Marks an attribute of a row that the API returns.

    `to_json` converts the stored value. `full` marks an attribute that only the view FULL has.
    """

    to_json: Callable[[Any], Any] = str
    full: bool = False


class Profile(NamedTuple):
    """Marks an attribute that clients also set. `max_length` applies to a TEXT."""

    kind: Kind
    max_length: int = 0


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
    first_name: Annotated[str, Profile(Kind.TEXT, max_length=100)]
    last_name: Annotated[str, Profile(Kind.TEXT, max_length=100)]
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

    @property
    def etag(self) -> str:
        """The entity tag, which changes with what the API returns.

        A change of the subscriber changes its revision. Tags can be renamed and deleted, and custom
        fields deleted, without a change of their subscribers, so the names are in the tag as well:
        an editor that sends the old names back would create the tags again.
        """
        names = "\0".join(self.tags)
        if self.values:
            names = "\0".join([names, "", *sorted(self.values)])
        return f'"{self.revision:x}-{crc32(names.encode()):x}"'

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
    """A field that the API returns, by its name in rows and messages.

    `kind` is None for a field that clients do not set.
    """

    name: str
    json_name: str
    to_json: Callable[[Any], Any]
    full: bool = False
    kind: Kind | None = None
    max_length: int = 0

    @property
    def is_optional(self) -> bool:
        """Whether the field is absent without a value."""
        return self.full or self.kind not in (None, Kind.TEXT)


def _declared() -> Iterator[Field]:
    for name, hint in get_type_hints(SubscriberRow, include_extras=True).items():
        # The time of the last change is stored as its revision.
        in_json = json_name("updated_at" if name == "revision" else name)
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Profile):
                yield Field(name, in_json, _TO_JSON[mark.kind], False, *mark)
            else:
                yield Field(name, in_json, *mark)


# The fields of the view BASIC, and the additional ones of FULL.
FIELDS = tuple(field for field in _declared() if not field.full)
ADDED_BY_FULL = tuple(field for field in _declared() if field.full)
# The fields that clients set when they create, update or import a subscriber, by name.
PROFILE = {field.name: field for field in FIELDS if field.kind is not None}
# The values of a profile that states nothing.
NO_PROFILE: Mapping[str, Any] = {
    name: "" if field.kind is Kind.TEXT else None for name, field in PROFILE.items()
}


def profile_fields(*kinds: Kind) -> list[str]:
    """Returns the names of the fields of these kinds that clients set."""
    return [name for name, field in PROFILE.items() if field.kind in kinds]


def _compiled() -> Callable[[SubscriberRow], dict[str, Any]]:
    """Compiles a function that returns the JSON of the view BASIC.

    A loop over the fields takes four times as long (`page_of_20` in `make bench`).
    """
    members = []
    for field in FIELDS:
        name, key, to_json, *_ = field
        member = f"{key!r}: {'' if to_json is str else name}(row.{name})"
        absent = f"**({{{member}}} if row.{name} is not None else {{}})"
        members.append(absent if field.is_optional else member)
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
