"""Events: what can happen, and what an endpoint says that it wants to hear of."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ..texts import json_name


class EventType(StrEnum):
    """What happened; the word before the dot says to what."""

    SUBSCRIBER_CREATED = "subscriber.created"
    SUBSCRIBER_UPDATED = "subscriber.updated"
    SUBSCRIBER_DELETED = "subscriber.deleted"
    SUBSCRIBER_CONFIRMED = "subscriber.confirmed"
    SUBSCRIBER_UNSUBSCRIBED = "subscriber.unsubscribed"
    SUBSCRIBER_BOUNCED = "subscriber.bounced"
    SUBSCRIBER_COMPLAINED = "subscriber.complained"
    TAG_CREATED = "tag.created"
    TAG_UPDATED = "tag.updated"
    TAG_DELETED = "tag.deleted"
    CUSTOM_FIELD_CREATED = "custom_field.created"
    CUSTOM_FIELD_UPDATED = "custom_field.updated"
    CUSTOM_FIELD_DELETED = "custom_field.deleted"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_TEST = "webhook.test"


class Resource(Protocol):
    """What an event happens to."""

    def as_json(self) -> dict[str, Any]:
        """Returns the resource as the API returns it."""


class Change(NamedTuple):
    """A change to tell of: what there was before it, and what there is after it."""

    event_type: EventType
    before: Resource | None
    after: Resource | None


def created(event_type: EventType, after: Resource) -> Change:
    """Returns the change by which something comes to be."""
    return Change(event_type, None, after)


def deleted(event_type: EventType, before: Resource) -> Change:
    """Returns the change by which something ends."""
    return Change(event_type, before, None)


_WILDCARD_PATTERNS = {f"{event_type.partition('.')[0]}.*" for event_type in EventType}


def is_pattern(text: str) -> bool:
    """Whether a text names a kind, or all kinds of one thing, such as `subscriber.*`."""
    return text in _WILDCARD_PATTERNS or text in set(EventType)


def event_types_matching(pattern: str) -> list[str]:
    """Returns the kinds that a text names, as `is_pattern` has it; none where it is none."""
    return [event_type for event_type in EventType if matches_any(event_type, [pattern])]


def matches_any(event_type: str, patterns: Collection[str]) -> bool:
    """Whether an event of the kind is among those named; no pattern names all."""
    return not patterns or event_type in patterns or f"{event_type.partition('.')[0]}.*" in patterns


def data_key(event_type: str) -> str:
    """Returns the name under which the data of an event holds what it happened to."""
    return json_name(event_type.partition(".")[0])
