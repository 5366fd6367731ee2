"""Declares the event types, and matches them with the patterns of webhooks."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ...values.texts import json_name


class EventType(StrEnum):
    """An event type: the kind of resource, and what happened to it."""

    SUBSCRIBER_CREATED = "subscriber.created"
    SUBSCRIBER_UPDATED = "subscriber.updated"
    SUBSCRIBER_DELETED = "subscriber.deleted"
    SUBSCRIBER_SIGNUP_REPEATED = "subscriber.signup_repeated"
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
    OPERATION_COMPLETED = "operation.completed"
    WEBHOOK_DISABLED = "webhook.disabled"
    WEBHOOK_TEST = "webhook.test"


# The members of a subscriber with which a person can act.
LINKS = frozenset({"confirmUrl", "unsubscribeUrl"})


class Resource(Protocol):
    """The resource of an event."""

    def as_json(self) -> dict[str, Any]:
        """Returns the resource as the API returns it."""


class Change(NamedTuple):
    """A change of a resource: its state before and after. None is a missing resource."""

    event_type: EventType
    before: Resource | None
    after: Resource | None


def created(event_type: EventType, after: Resource) -> Change:
    return Change(event_type, None, after)


def deleted(event_type: EventType, before: Resource) -> Change:
    return Change(event_type, before, None)


def subscriber_id(change: Change) -> str | None:
    """Returns the ID of the subscriber that a change is about, or None."""
    if data_key(change.event_type) != "subscriber":
        return None
    resource_id: str | None = getattr(change.after or change.before, "id", None)
    return resource_id


_WILDCARD_PATTERNS = {f"{event_type.partition('.')[0]}.*" for event_type in EventType}


def is_pattern(text: str) -> bool:
    """Returns whether a text is an event type, or a wildcard such as `subscriber.*`."""
    return text in _WILDCARD_PATTERNS or text in set(EventType)


def event_types_matching(pattern: str) -> list[str]:
    """Returns the event types that a pattern matches."""
    return [event_type for event_type in EventType if matches_any(event_type, [pattern])]


def matches_any(event_type: str, patterns: Collection[str]) -> bool:
    """Returns whether any pattern matches the event type. No patterns match every type."""
    return not patterns or event_type in patterns or f"{event_type.partition('.')[0]}.*" in patterns


def data_key(event_type: str) -> str:
    """Returns the member of `data` that contains the resource."""
    return json_name(event_type.partition(".")[0])
