"""Counts the row outcomes of an import over all of its runs, and resolves unknown outcomes.

If a run is interrupted, the service may have stored rows whose results the client did not
receive. Rows are processed in order, so these rows directly follow the last received result. The
next run sends them again and finds their addresses taken. It identifies them by their IDs, which
increase over time: a subscriber that was created by such a row is newer than every subscriber
before the import and every created row that was counted. Such a row is counted as created. The
first row that the service reports as created ends this range. A later row whose address is taken
conflicts with another subscriber or an earlier row of the file, and keeps its reported outcome.

A resumed run with `--on-conflict fail` therefore uses `skip`, because the result of a skipped row
contains the ID of the existing subscriber, and reports the other conflicts as failed.

One error remains: if another client creates the address of the first row that was not stored
between the two runs, that row is counted as created.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

CREATED, UPDATED, SKIPPED, FAILED = "CREATED", "UPDATED", "SKIPPED", "FAILED"
ALREADY_EXISTS = "ALREADY_EXISTS"


class OnConflict(StrEnum):
    """Actions for a row whose address is already taken."""

    FAIL = "fail"
    SKIP = "skip"
    UPDATE = "update"


@dataclass
class Tally:
    """The last line with a received result, and the number of rows per outcome and reason.

    `newest` is the ID of the newest subscriber: before the import, then of the import.
    """

    newest: str = ""
    line: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((CREATED, UPDATED, SKIPPED, FAILED), 0)
    )
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        return self.counts[FAILED]

    def count(self, result: dict[str, Any]) -> None:
        """Adds the result of a row."""
        outcome = result["outcome"]
        self.line = int(result["line"])
        self.counts[outcome] += 1
        if outcome == CREATED:
            self.newest = result["id"]
        elif outcome == FAILED:
            self.reasons[result["reason"]] = self.reasons.get(result["reason"], 0) + 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class OutcomeResolver:
    """Resolves the outcomes of rows that an interrupted run may have stored.

    `on_conflict` is the action to request from the service.
    """

    def __init__(self, on_conflict: OnConflict, *, resumed: bool) -> None:
        self._fails = on_conflict is OnConflict.FAIL and resumed
        self._may_be_stored = resumed
        self.on_conflict = OnConflict.SKIP if self._fails else on_conflict

    def resolve(self, result: dict[str, Any], newest: str) -> dict[str, Any]:
        """Returns the result to count; `newest` is that of the Tally."""
        outcome = result["outcome"]
        if outcome == CREATED:
            self._may_be_stored = False
        elif outcome != FAILED and self._may_be_stored and result["id"] > newest:
            return {**result, "outcome": CREATED}
        elif outcome == SKIPPED and self._fails:
            failure = {"outcome": FAILED, "reason": ALREADY_EXISTS, "field": "email", "id": ""}
            return {**result, **failure}
        return result
