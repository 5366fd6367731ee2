"""What became of the rows of an import, counted, over all the runs that it took.

A run that broke off may have stored rows that it was not told of. They lie in one
stretch right after the last line that was told of, since rows act in their order;
the next run meets their addresses as taken ones. It knows them by their ids, which
rise in order of creation: the subscriber that has such an address is newer than all
that was there or was told of before. Such a row is counted as created. The stretch
ends with the first row that the service says is new. Every other row whose address
is taken had met somebody else's subscriber, or an earlier row of the same file, and
is told as what it is.

For that a run that goes on asks the service to pass over addresses that are taken
even where such rows shall fail: of a row that is passed over it learns the id.

One mistake is left: if, between the two runs, somebody else creates the very address
of the next row that was not stored, then the row is counted as created and is not.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

CREATED, UPDATED, SKIPPED, FAILED = "CREATED", "UPDATED", "SKIPPED", "FAILED"
ALREADY_EXISTS = "ALREADY_EXISTS"


class OnConflict(StrEnum):
    """What is done with a row whose address is taken."""

    FAIL = "fail"
    SKIP = "skip"
    UPDATE = "update"


@dataclass
class Tally:
    """How far an import has come: the last line that was told of, and what became of the rows.

    `newest` is the id of the newest subscriber before the import, then of those it made.
    """

    newest: str = ""
    line: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((CREATED, UPDATED, SKIPPED, FAILED), 0)
    )
    reasons: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows have been told of."""
        return sum(self.counts.values())

    @property
    def failed(self) -> int:
        """How many rows have failed."""
        return self.counts[FAILED]

    def count(self, result: dict[str, Any]) -> None:
        """Counts a row that was told of."""
        outcome = result["outcome"]
        self.line = int(result["line"])
        self.counts[outcome] += 1
        if outcome == CREATED:
            self.newest = result["id"]
        elif outcome == FAILED:
            self.reasons[result["reason"]] = self.reasons.get(result["reason"], 0) + 1

    def as_json(self) -> dict[str, Any]:
        """Returns what makes the tally again."""
        return asdict(self)


class Judge:
    """Says what became of rows, where a run that broke off leaves that in doubt."""

    def __init__(self, on_conflict: OnConflict, *, resumed: bool) -> None:
        self._fails = on_conflict is OnConflict.FAIL and resumed
        self._in_doubt = resumed
        self.asked = OnConflict.SKIP if self._fails else on_conflict

    def settle(self, result: dict[str, Any], newest: str) -> dict[str, Any]:
        """Returns what a result of the service comes to; `newest` as a Tally has it."""
        outcome = result["outcome"]
        if outcome == CREATED:
            self._in_doubt = False
        elif outcome != FAILED and self._in_doubt and result["id"] > newest:
            return {**result, "outcome": CREATED}
        elif outcome == SKIPPED and self._fails:
            why = {"outcome": FAILED, "reason": ALREADY_EXISTS, "field": "email", "id": ""}
            return {**result, **why}
        return result
