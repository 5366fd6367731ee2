"""What an event says: its envelope, made once and sent to the byte the same ever after.

    {"id": "evt_...", "type": "tag.updated", "timestamp": "2026-11-21T03:33:16.247Z",
     "sequence": 7, "data": {"tag": {...}}, "previous": {"name": "..."}}

`data` holds the resource as the API would return it after the change, or before it where
the change was its end. `previous` holds the members that the change gave another value, as
they were; what was absent before is null there. It is left out where nothing was before.
"""

from __future__ import annotations

from typing import Any

import orjson

from ..clock import written
from .rules import Change, data_key

PREFIX = "evt_"


def envelope(event_id: str, sequence: int, milliseconds: int, change: Change) -> str:
    """Returns the text of an event."""
    before = change.before.as_json() if change.before else {}
    after = change.after.as_json() if change.after else {}
    message: dict[str, Any] = {
        "id": event_id,
        "type": change.event_type,
        "timestamp": written(milliseconds),
        "sequence": sequence,
        "data": {data_key(change.event_type): after or before},
    }
    if before and after:
        names = [*before, *(name for name in after if name not in before)]
        message["previous"] = {
            name: before.get(name) for name in names if before.get(name) != after.get(name)
        }
    return orjson.dumps(message).decode()
