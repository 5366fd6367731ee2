"""Describes when an event of each type occurs, for the documentation."""

from __future__ import annotations

from collections.abc import Mapping

from .rules import EventType

EVENT_DESCRIPTIONS: Mapping[str, str] = {
    EventType.SUBSCRIBER_CREATED: (
        "A subscriber was created, individually, in bulk or by an import. Failed rows and rows of"
        " existing subscribers cause no event. If the server has a public URL, the event contains"
        " unsubscribeUrl, and confirmUrl if the status is UNCONFIRMED."
    ),
    EventType.SUBSCRIBER_UPDATED: (
        "The email address, names, tags or custom field values of a subscriber changed, or its"
        " status became UNCONFIRMED. A different address can reset the status to UNCONFIRMED;"
        " both changes are in this one event."
    ),
    EventType.SUBSCRIBER_DELETED: "A subscriber was deleted. The event contains its last state.",
    EventType.SUBSCRIBER_SIGNUP_REPEATED: (
        "An existing subscriber with the status UNCONFIRMED or UNSUBSCRIBED signed up again. The"
        " subscriber is unchanged. If the server has a public URL, the event contains confirmUrl"
        " and unsubscribeUrl. It does not occur within 10 minutes of the creation of the"
        " subscriber or of another such event."
    ),
    EventType.SUBSCRIBER_CONFIRMED: "A subscriber's status became CONFIRMED.",
    EventType.SUBSCRIBER_UNSUBSCRIBED: "A subscriber's status became UNSUBSCRIBED.",
    EventType.SUBSCRIBER_BOUNCED: "A subscriber's status became BOUNCED.",
    EventType.SUBSCRIBER_COMPLAINED: "A subscriber's status became COMPLAINED.",
    EventType.TAG_CREATED: (
        "A tag was created, individually or with its first subscriber. In that case, this event"
        " precedes that of the subscriber."
    ),
    EventType.TAG_UPDATED: (
        "The name or description of a tag changed. Subscribers with the tag cause no events."
    ),
    EventType.TAG_DELETED: (
        "A tag was deleted and removed from all subscribers, which cause no events."
    ),
    EventType.CUSTOM_FIELD_CREATED: "A custom field was created.",
    EventType.CUSTOM_FIELD_UPDATED: "The label or fallback of a custom field changed.",
    EventType.CUSTOM_FIELD_DELETED: (
        "A custom field and its values were deleted. Subscribers with a value cause no events."
    ),
    EventType.OPERATION_COMPLETED: (
        "An operation on many subscribers ended or was canceled. It follows the events of the"
        " subscribers. Operations that only count cause no event."
    ),
    EventType.WEBHOOK_DISABLED: (
        "The service disabled a webhook of the account. The event is sent to the account's other"
        " webhooks."
    ),
    EventType.WEBHOOK_TEST: (
        "A test of a webhook was requested. The event is sent only to that webhook, regardless of"
        " its event types."
    ),
}
