"""Declares the event types, and matches them with the patterns of webhooks."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ...values.texts import json_name


class EventType(StrEnum):
    """An event type: the kind of resource, what happened to it, and when the event occurs."""

    description: str

    def __new__(cls, name: str, description: str) -> EventType:
        event_type = str.__new__(cls, name)
        event_type._value_ = name
        event_type.description = description
        return event_type

    SUBSCRIBER_CREATED = (
        "subscriber.created",
        "A subscriber was created, individually, in bulk or by an import. Failed rows and rows of"
        " existing subscribers cause no event. If the server has a public URL, the event contains"
        " unsubscribeUrl, and confirmUrl if the status is UNCONFIRMED.",
    )
    SUBSCRIBER_UPDATED = (
        "subscriber.updated",
        "The email address, names, tags or custom field values of a subscriber changed, or its"
        " status became UNCONFIRMED. A different address can reset the status to UNCONFIRMED;"
        " both changes are in this one event.",
    )
    SUBSCRIBER_DELETED = (
        "subscriber.deleted",
        "A subscriber was deleted. The event contains its last state.",
    )
    SUBSCRIBER_SIGNUP_REPEATED = (
        "subscriber.signup_repeated",
        "An existing subscriber with the status UNCONFIRMED or UNSUBSCRIBED signed up again. The"
        " subscriber is unchanged. If the server has a public URL, the event contains confirmUrl"
        " and unsubscribeUrl. It does not occur within 10 minutes of the creation of the"
        " subscriber or of another such event.",
    )
    SUBSCRIBER_CONFIRMED = (
        "subscriber.confirmed",
        "A subscriber's status became CONFIRMED.",
    )
    SUBSCRIBER_UNSUBSCRIBED = (
        "subscriber.unsubscribed",
        "A subscriber's status became UNSUBSCRIBED.",
    )
    SUBSCRIBER_BOUNCED = (
        "subscriber.bounced",
        "A subscriber's status became BOUNCED.",
    )
    SUBSCRIBER_COMPLAINED = (
        "subscriber.complained",
        "A subscriber's status became COMPLAINED.",
    )
    TAG_CREATED = (
        "tag.created",
        "A tag was created, individually or with its first subscriber. In that case, this event"
        " precedes that of the subscriber.",
    )
    TAG_UPDATED = (
        "tag.updated",
        "The name or description of a tag changed. Subscribers with the tag cause no events.",
    )
    TAG_DELETED = (
        "tag.deleted",
        "A tag was deleted and removed from all subscribers, which cause no events.",
    )
    CUSTOM_FIELD_CREATED = (
        "custom_field.created",
        "A custom field was created.",
    )
    CUSTOM_FIELD_UPDATED = (
        "custom_field.updated",
        "The label or fallback of a custom field changed.",
    )
    CUSTOM_FIELD_DELETED = (
        "custom_field.deleted",
        "A custom field and its values were deleted. Subscribers with a value cause no events.",
    )
    OPERATION_COMPLETED = (
        "operation.completed",
        "An operation, which changed many subscribers or replayed events, ended or was canceled. It"
        " follows the events of the subscribers. Dry runs cause no event.",
    )
    WEBHOOK_DISABLED = (
        "webhook.disabled",
        "The service disabled a webhook of the account. The event is sent to the account's other"
        " webhooks.",
    )
    WEBHOOK_TEST = (
        "webhook.test",
        "A test of a webhook was requested. The event is sent only to that webhook, regardless of"
        " its event types.",
    )

    @property
    def data_key(self) -> str:
        """The member of `data` that contains the resource."""
        return json_name(self.partition(".")[0])

    @property
    def message(self) -> str:
        """The name of the protobuf message of the resource."""
        return self.data_key[0].upper() + self.data_key[1:]


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
    if change.event_type.data_key != "subscriber":
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
