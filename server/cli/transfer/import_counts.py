"""Counts the row outcomes of an import over all of its runs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

CREATED, UPDATED, SKIPPED, FAILED = "CREATED", "UPDATED", "SKIPPED", "FAILED"


class OnConflict(StrEnum):
    """Actions for a row whose address is already taken."""

    FAIL = "fail"
    SKIP = "skip"
    UPDATE = "update"


@dataclass
class Tally:
    """The last line with a received result, and the number of rows per outcome and reason."""

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
        if "reason" in result:
            self.reasons[result["reason"]] = self.reasons.get(result["reason"], 0) + 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
