"""Counts what failed by reason, with the first examples of each."""

from __future__ import annotations

from typing import Any

import orjson

MAX_EXAMPLES = 5


class ReasonCounts:
    """Totals and examples by reason, in the order in which the reasons occurred first."""

    def __init__(self, stored: list[dict[str, Any]] | dict[str, int] | None = None) -> None:
        """Continues counts that `as_json` returned. Earlier versions stored totals by reason."""
        self._counts: dict[str, dict[str, Any]] = {}
        if isinstance(stored, dict):
            for reason, total in stored.items():
                self.add_many(reason, total)
        else:
            self._counts |= {each["reason"]: each for each in stored or ()}

    def add(self, reason: str, example: str | None) -> None:
        self.add_many(reason, 1)
        examples = self._counts[reason]["examples"]
        if example is not None and len(examples) < MAX_EXAMPLES:
            examples.append(example)

    def add_many(self, reason: str, total: int) -> None:
        """Adds a number without examples."""
        new = {"reason": reason, "total": 0, "examples": []}
        self._counts.setdefault(reason, new)["total"] += total

    def as_text(self) -> str:
        return orjson.dumps(self.as_json()).decode()

    def as_json(self) -> list[dict[str, Any]]:
        """Returns the counts in the JSON of the message ReasonCount."""
        return list(self._counts.values())
