"""What webhooks are told: the kinds of events, when each happens, and a real one of each.

The events and the numbers of delivery are in `events.json`, which the code that sends them
makes; the gateway knows nothing else of it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import orjson


class Told(NamedTuple):
    """What is told of events: an example by kind, and what delivery keeps to, in seconds.

    One of the events is the body of a request: `headers` are those that it has, signed
    with `secret`.
    """

    kinds: dict[str, dict[str, Any]]
    delivery: dict[str, Any]
    headers: dict[str, str]
    secret: str

    @property
    def signed(self) -> dict[str, Any]:
        """The event that the headers are of."""
        event_id = self.headers["webhook-id"]
        return next(event for event in self.kinds.values() if event["id"] == event_id)


@cache
def told() -> Told:
    """Returns what the file says."""
    content = orjson.loads((files(__package__) / "events.json").read_bytes())
    return Told(**content)


# When an event of each kind happens.
WHEN = {
    "subscriber.created": (
        "A subscriber was created: alone, in a bulk or by an import. A row that failed, or was"
        " there before, is not told of."
    ),
    "subscriber.updated": (
        "The email address, names, tags or custom field values of a subscriber changed, or its"
        " status became UNCONFIRMED. A different address can reset the status to UNCONFIRMED;"
        " both changes are in this one event."
    ),
    "subscriber.deleted": "A subscriber was deleted. It is told as it was last.",
    "subscriber.confirmed": "A subscriber's status became CONFIRMED.",
    "subscriber.unsubscribed": "A subscriber's status became UNSUBSCRIBED.",
    "subscriber.bounced": "A subscriber's status became BOUNCED.",
    "subscriber.complained": "A subscriber's status became COMPLAINED.",
    "tag.created": (
        "A tag was created, by itself or with the first subscriber that got it; then this event"
        " comes before that of the subscriber."
    ),
    "tag.updated": (
        "A tag has another name or description. Those who have the tag are not told of one by one."
    ),
    "tag.deleted": (
        "A tag was deleted and taken off all subscribers, who are not told of one by one."
    ),
    "custom_field.created": "A custom field was defined.",
    "custom_field.updated": "A custom field has another label or fallback.",
    "custom_field.deleted": (
        "A custom field was deleted with the values of all subscribers, who are not told of one"
        " by one."
    ),
    "webhook.disabled": (
        "The service disabled a webhook of the account. The account's other webhooks hear of it."
    ),
    "webhook.test": (
        "Somebody asked for a test of a webhook. That webhook alone hears of it, whatever types"
        " it asks for."
    ),
}
