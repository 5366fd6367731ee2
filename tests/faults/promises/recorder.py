"""Records the outcome of each operation that clients sent. All promises check these outcomes.

An operation succeeded, or failed without a change, or has an unknown outcome because its
response was lost or says so. Each operation has its own idempotency key, which repeated
requests share. The names of created resources contain this key, so that the database shows
which operations were stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from rosterd.server.features.custom_fields.rules import MAX_TEXT_LENGTH

from ...fronts import Response

# Rows of a bulk: more than one, so that a part of them could be stored.
BULK_ROWS = 3
# One operation of each kind, in the order in which a client sends them. API keys have no unique
# name: only the idempotency key prevents a second one.
RPCS = ("CreateSubscriber", "BulkCreateSubscribers", "CreateSubscriber", "CreateApiKey")
# Every subscriber gets this tag and no other.
TAG = "load"
# A custom field value of the maximum length.
LONG_TEXT = "x" * MAX_TEXT_LENGTH


class Outcome(IntEnum):
    """The outcome that a response states. Of several responses the greatest outcome counts."""

    FAILED = 0
    UNKNOWN = 1
    OK = 2


@dataclass(frozen=True)
class Operation:
    """A request that creates resources, and its idempotency key.

    Each created subscriber has `long_texts` custom fields with long texts, see `long_fields`.
    """

    rpc: str
    key: str
    long_texts: int = 0

    @property
    def names(self) -> list[str]:
        """The names of all resources that it creates."""
        rows = BULK_ROWS if self.rpc == "BulkCreateSubscribers" else 1
        return [f"{self.key}.{row}" for row in range(rows)]

    @property
    def request(self) -> dict[str, Any]:
        """The request as JSON."""
        if self.rpc == "CreateApiKey":
            return {"name": self.names[0], "scope": "read"}
        rows = [self._row(name) for name in self.names]
        return {"subscribers": rows} if self.rpc == "BulkCreateSubscribers" else rows[0]

    def _row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"email": f"{name}@example.com", "tags": [TAG]}
        if self.long_texts:
            row["customFields"] = dict.fromkeys(long_fields(self.long_texts), LONG_TEXT)
        return row


def long_fields(count: int) -> list[str]:
    """Returns the keys of custom fields; their labels are the same."""
    return [f"long_{number}" for number in range(count)]


def nth_operation(
    iteration: int, key: str, long_texts: int = 0, rpcs: Sequence[str] = RPCS
) -> Operation:
    """Returns the operation of a client's n-th iteration."""
    return Operation(rpcs[iteration % len(rpcs)], key, long_texts)


def outcome_of(response: Response | None) -> Outcome | None:
    """Returns the outcome that a response states, or None if the response is unexpected.

    No response is an unknown outcome. A 503 promises that nothing was changed; a 500 and a 504
    promise nothing. The idempotency key is in use while an earlier request still runs.
    """
    if response is None or response.status in (500, 504):
        return Outcome.UNKNOWN
    if response.status in (200, 201):
        return Outcome.OK if not response.body.get("failed") else None
    if response.status == 409 and response.code == "IdempotencyKeyInUse":
        return Outcome.UNKNOWN
    return Outcome.FAILED if response.status == 503 else None


class Recorder:
    """Records every response and every request without one. It is thread-safe."""

    def __init__(self) -> None:
        self.outcomes: dict[Operation, Outcome] = {}
        self.responses: dict[Operation, list[Any]] = defaultdict(list)
        # Operations whose outcome was unknown at some time.
        self.once_unknown: set[Operation] = set()
        self.wrong: list[tuple[Operation, Response]] = []

    def record(self, operation: Operation, response: Response | None) -> Outcome:
        """Records a response, or None if none arrived, and returns the outcome that it states."""
        outcome = outcome_of(response)
        if outcome is None:
            assert response is not None
            self.wrong.append((operation, response))
            outcome = Outcome.UNKNOWN
        if outcome is Outcome.OK:
            assert response is not None
            self.responses[operation].append(response.body)
        if outcome is Outcome.UNKNOWN:
            self.once_unknown.add(operation)
        # An earlier request may have been stored even if a later response states a failure.
        self.outcomes[operation] = max(outcome, self.outcomes.get(operation, outcome))
        return outcome

    def with_outcome(self, outcome: Outcome) -> list[Operation]:
        """Returns the operations that have this outcome now."""
        return [operation for operation, known in list(self.outcomes.items()) if known is outcome]
