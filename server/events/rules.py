"""Events: what can happen, and what an endpoint says that it wants to hear of."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


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

    kind: EventType
    before: Resource | None
    after: Resource | None


def created(kind: EventType, after: Resource) -> Change:
    """Returns the change by which something comes to be."""
    return Change(kind, None, after)


def deleted(kind: EventType, before: Resource) -> Change:
    """Returns the change by which something ends."""
    return Change(kind, before, None)


_WILDCARDS = {f"{kind.partition('.')[0]}.*" for kind in EventType}


def is_pattern(text: str) -> bool:
    """Whether a text names a kind, or all kinds of one thing, such as `subscriber.*`."""
    return text in _WILDCARDS or text in set(EventType)


def event_types_matching(pattern: str) -> list[str]:
    """Returns the kinds that a text names, as `is_pattern` has it; none where it is none."""
    return [kind for kind in EventType if is_wanted(kind, [pattern])]


def is_wanted(kind: str, patterns: Collection[str]) -> bool:
    """Whether an event of the kind is among those named; no pattern names all."""
    return not patterns or kind in patterns or f"{kind.partition('.')[0]}.*" in patterns


def member_of(kind: str) -> str:
    """Returns the name under which the data of an event holds what it happened to."""
    first, *others = kind.partition(".")[0].split("_")
    return first + "".join(word.capitalize() for word in others)
