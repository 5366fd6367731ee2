"""Event types with descriptions and examples.

The examples are in `events.json`, which is generated from the delivery code.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson


class WebhookExamples(NamedTuple):
    """An example event of each type.

    `headers` are the signed headers of the request with one of the events.
    """

    events: dict[str, dict[str, Any]]
    headers: dict[str, str]
    secret: str

    @property
    def signed(self) -> dict[str, Any]:
        """The event that `headers` belong to."""
        event_id = self.headers["webhook-id"]
        return next(event for event in self.events.values() if event["id"] == event_id)


@cache
def webhook_examples() -> WebhookExamples:
    content = orjson.loads((files(__package__) / "events.json").read_bytes())
    return WebhookExamples(**content)


EVENT_DESCRIPTIONS = {
    "subscriber.created": (
        "A subscriber was created, individually, in bulk or by an import. Failed rows and rows of"
        " existing subscribers cause no event."
    ),
    "subscriber.updated": (
        "The email address, names, tags or custom field values of a subscriber changed, or its"
        " status became UNCONFIRMED. A different address can reset the status to UNCONFIRMED;"
        " both changes are in this one event."
    ),
    "subscriber.deleted": "A subscriber was deleted. The event contains its last state.",
    "subscriber.confirmed": "A subscriber's status became CONFIRMED.",
    "subscriber.unsubscribed": "A subscriber's status became UNSUBSCRIBED.",
    "subscriber.bounced": "A subscriber's status became BOUNCED.",
    "subscriber.complained": "A subscriber's status became COMPLAINED.",
    "tag.created": (
        "A tag was created, individually or with its first subscriber. In that case, this event"
        " precedes that of the subscriber."
    ),
    "tag.updated": (
        "The name or description of a tag changed. Subscribers with the tag cause no events."
    ),
    "tag.deleted": ("A tag was deleted and removed from all subscribers, which cause no events."),
    "custom_field.created": "A custom field was created.",
    "custom_field.updated": "The label or fallback of a custom field changed.",
    "custom_field.deleted": (
        "A custom field and its values were deleted. Subscribers with a value cause no events."
    ),
    "webhook.disabled": (
        "The service disabled a webhook of the account. The event is sent to the account's other"
        " webhooks."
    ),
    "webhook.test": (
        "A test of a webhook was requested. The event is sent only to that webhook, regardless of"
        " its event types."
    ),
}
