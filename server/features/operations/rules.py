"""The requests and states of operations."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

MAX_RUNNING = 100


class State(IntEnum):
    """The state of an operation; the numbers of Operation.State."""

    RUNNING = 1
    SUCCEEDED = 2
    CANCELLED = 3
    FAILED = 4


class BatchRequest(NamedTuple):
    """A request for an operation, as it is stored.

    `message` is the request in JSON, without its IDs. `texts` are the filter, and the filter
    of the segment at the start. `key_id` and `by_admin` describe the caller. `revision` is the last
    one of the account at the start, and `end_id` is greater than the IDs of all subscribers at the
    start; they are 0 and empty in operations of earlier versions, as is `key_name`, the name of the
    API key.
    """

    message: dict[str, Any]
    texts: list[str]
    key_id: str
    by_admin: bool
    revision: int = 0
    end_id: str = ""
    key_name: str = ""

    @property
    def action(self) -> str:
        (name,) = self.message["action"]
        return str(name)

    @property
    def value(self) -> Any:
        """The value of the action."""
        (value,) = self.message["action"].values()
        return value

    @property
    def filter(self) -> str:
        return self.message.get("filter", "")  # type: ignore[no-any-return]

    @property
    def segment_id(self) -> str:
        # Earlier versions stored the other name.
        return str(self.message.get("segmentId") or self.message.get("segment", ""))

    @property
    def dry_run(self) -> bool:
        return self.message.get("dryRun", False)  # type: ignore[no-any-return]


def stored_request(stored: Any) -> BatchRequest:
    """Returns a request from its stored JSON, which is a list in operations of earlier versions."""
    if isinstance(stored, dict):
        # Without members that a later version adds.
        return BatchRequest(
            **{name: stored[name] for name in BatchRequest._fields if name in stored}
        )
    action, value, text, segment, texts, dry_run, key_id, by_admin = stored
    message = {"action": {action: value}, "filter": text, "segment": segment, "dryRun": dry_run}
    return BatchRequest(message, texts, key_id, by_admin)
