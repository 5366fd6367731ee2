"""What became of each operation that clients sent: what every promise is held to.

An operation was done; or it failed, and nothing was changed; or nobody can tell, since its
answer was lost or says so. It comes with an idempotency key of its own however often it is
sent, and what it makes is named after that key, so that the store tells what was done.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from server.custom_fields.rules import MAX_TEXT_LENGTH

from ...fronts import Response

# Rows of a bulk: more than one, so that half of it could be there.
BULK_ROWS = 3
# One operation of each kind, in the order in which a client takes turns. Nothing but the
# idempotency key keeps a second API key of one name from being made.
RPCS = ("CreateSubscriber", "BulkCreateSubscribers", "CreateSubscriber", "CreateApiKey")
# Every subscriber gets this tag and no other.
TAG = "load"
# A text that is as long as a custom value may be.
LONG_TEXT = "x" * MAX_TEXT_LENGTH


class Outcome(IntEnum):
    """What an answer tells of the operation. Of several answers the greatest holds."""

    FAILED = 0
    UNKNOWN = 1
    OK = 2


@dataclass(frozen=True)
class Operation:
    """A request that makes something, and its idempotency key.

    Each subscriber that it makes has long texts in so many custom fields, see `long_fields`.
    """

    rpc: str
    key: str
    long_texts: int = 0

    @property
    def makes(self) -> list[str]:
        """The names of all that it makes."""
        rows = BULK_ROWS if self.rpc == "BulkCreateSubscribers" else 1
        return [f"{self.key}.{row}" for row in range(rows)]

    @property
    def request(self) -> dict[str, Any]:
        """The request as JSON."""
        if self.rpc == "CreateApiKey":
            return {"name": self.makes[0], "scope": "read"}
        rows = [self._row(name) for name in self.makes]
        return {"subscribers": rows} if self.rpc == "BulkCreateSubscribers" else rows[0]

    def _row(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = {"email": f"{name}@example.com", "tags": [TAG]}
        if self.long_texts:
            row["customFields"] = dict.fromkeys(long_fields(self.long_texts), LONG_TEXT)
        return row


def long_fields(count: int) -> list[str]:
    """Returns the keys of so many custom fields; their labels are the same."""
    return [f"long_{number}" for number in range(count)]


def nth(run_cycle: int, key: str, long_texts: int = 0) -> Operation:
    """Returns the operation of a client's turn."""
    return Operation(RPCS[run_cycle % len(RPCS)], key, long_texts)


def outcome_of(answer: Response | None) -> Outcome | None:
    """Returns what an answer, or None where none came, tells; None if it should not be given.

    A 503 promises that nothing was changed; a 500 and a 504 promise nothing. The key is in
    use while the operation runs that was sent before.
    """
    if answer is None or answer.status in (500, 504):
        return Outcome.UNKNOWN
    if answer.status in (200, 201):
        return Outcome.OK if not answer.body.get("failed") else None
    if answer.status == 409 and answer.code == "IdempotencyKeyInUse":
        return Outcome.UNKNOWN
    return Outcome.FAILED if answer.status == 503 else None


class Recorder:
    """Notes every answer, and every sending that got none; any thread may."""

    def __init__(self) -> None:
        self.outcomes: dict[Operation, Outcome] = {}
        self.answers: dict[Operation, list[Any]] = defaultdict(list)
        # Those of which nobody could tell once, whatever is known now.
        self.doubted: set[Operation] = set()
        self.wrong: list[tuple[Operation, Response]] = []

    def note(self, operation: Operation, answer: Response | None) -> Outcome:
        """Notes what was answered, or None where nothing was, and returns what that tells."""
        told = outcome_of(answer)
        if told is None:
            assert answer is not None
            self.wrong.append((operation, answer))
            told = Outcome.UNKNOWN
        if told is Outcome.OK:
            assert answer is not None
            self.answers[operation].append(answer.body)
        if told is Outcome.UNKNOWN:
            self.doubted.add(operation)
        # What was sent before may stand whatever is told of a later sending.
        self.outcomes[operation] = max(told, self.outcomes.get(operation, told))
        return told

    def those(self, outcome: Outcome) -> list[Operation]:
        """Returns the operations of which this is known by now."""
        return [each for each, known in list(self.outcomes.items()) if known is outcome]
