"""Counts the results of an import."""

from __future__ import annotations

from collections.abc import Sequence

from ..subscribers.fields import Status
from ..subscribers.row_writer import Outcome, Result
from ..subscribers.rules import Failure, Validated, subscriber_of


class Summary:
    """The number of rows by outcome, reason, and status."""

    def __init__(self) -> None:
        # By number, because members of an enum are slow as keys.
        self._outcomes = [0] * (max(Outcome) + 1)
        self._reasons = [0] * (max(Failure) + 1)
        self._statuses = [0] * (max(Status) + 1)
        self.statuses_kept = 0
        self.rows_with_dropped_cells = 0

    def add(self, rows: Sequence[Validated], results: Sequence[Result]) -> None:
        for row, (outcome, _, row_error, status_kept, dropped) in zip(rows, results, strict=True):
            self._outcomes[outcome] += 1
            self.rows_with_dropped_cells += bool(dropped)
            if row_error is not None:
                self._reasons[row_error.failure] += 1
            elif status_kept:
                self.statuses_kept += 1
            elif (new := subscriber_of(row)) is not None and (
                outcome is Outcome.CREATED or (outcome is Outcome.UPDATED and new.has_status)
            ):
                self._statuses[new.status] += 1

    def outcomes(self) -> dict[str, int]:
        return {outcome.name.lower(): self._outcomes[outcome] for outcome in Outcome}

    def reasons(self) -> dict[str, int]:
        return {
            failure.name: self._reasons[failure] for failure in Failure if self._reasons[failure]
        }

    def statuses(self) -> dict[str, int]:
        return {status.name: self._statuses[status] for status in Status if self._statuses[status]}
