"""Examples of events from `events.json`, which is generated from the delivery code."""

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
