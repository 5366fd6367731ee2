"""Builds the envelope of an event, the JSON text that is stored and sent unchanged.

    {"id": "evt_...", "type": "tag.updated", "timestamp": "2026-11-21T03:33:16.247Z",
     "accountId": "...", "sequence": 7, "actor": {"type": "API_KEY", "id": "...", "name": "..."},
     "data": {"tag": {...}}, "previous": {"name": "..."}}

`actor` made the change; a change by the service itself has none. Events of earlier versions do not
contain it either.
`data` contains the resource as the API returns it after the change, or before a deletion.
`previous` contains the old values of the members that changed; null means absent. An event of a
creation or deletion has no `previous`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ...values.clock import iso8601
from .rules import LINKS, Change

PREFIX = "evt_"
# The members of a subscriber that do not identify the person.
_NOT_PERSONAL = frozenset({"id", "status", "createdAt"})
# Members that are absent if they are empty.
_OPTIONAL = LINKS | {"customFields"}


def envelope(
    account_id: str,
    event_id: str,
    sequence: int,
    milliseconds: int,
    actor: Mapping[str, str] | None,
    change: Change,
) -> str:
    before = change.before.as_json() if change.before else {}
    after = change.after.as_json() if change.after else {}
    message: dict[str, Any] = {
        "id": event_id,
        "type": change.event_type,
        "timestamp": iso8601(milliseconds),
        "accountId": account_id,
        "sequence": sequence,
    }
    if actor is not None:
        message["actor"] = actor
    message["data"] = {change.event_type.data_key: after or before}
    if before and after:
        names = [*before, *(name for name in after if name not in before)]
        message["previous"] = {
            name: before.get(name) for name in names if before.get(name) != after.get(name)
        }
    return orjson.dumps(message).decode()


def without_person(text: str) -> str:
    """Returns the envelope of an event about a subscriber without personal data."""
    message = orjson.loads(text)
    subscriber = message["data"]["subscriber"]
    message["data"]["subscriber"] = {
        name: value if name in _NOT_PERSONAL else type(value)()
        for name, value in subscriber.items()
        if name not in _OPTIONAL
    }
    if "previous" in message:
        previous = message["previous"].items()
        message["previous"] = {name: value for name, value in previous if name in _NOT_PERSONAL}
    return orjson.dumps(message).decode()
