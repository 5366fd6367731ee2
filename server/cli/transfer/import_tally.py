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

import csv
import os
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

from ..output import ExitCode
from .failing import TransferError

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


class Failures:
    """The table of rows that failed, which is there in the end only if there are any.

    What an earlier import left under this name stays until the service takes this one.
    """

    def __init__(self, path: Path, keep: int) -> None:
        """Opens the table; the first `keep` bytes, which an earlier run wrote, will stay.

        Raises TransferError if it cannot be written.
        """
        self.path = path
        try:
            self._file: TextIO = path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise TransferError(
                f"{path} cannot be written: {error.strerror}. Name another file with --failures.",
                ExitCode.USAGE,
            ) from error
        self._keep = keep if keep <= self._size() else 0
        self._has_begun = False
        self._writer = csv.writer(self._file)

    def begin(self) -> None:
        """Takes away what is not of this import."""
        self._has_begun = True
        self._file.truncate(self._keep)
        if not self._keep:
            self._writer.writerow(("line", "email", "reason", "field"))

    def add(self, result: dict[str, Any]) -> None:
        """Writes a row that failed."""
        self._writer.writerow(
            (result["line"], result["email"], result["reason"], result.get("field", ""))
        )

    def flush(self) -> int:
        """Hands everything to the system and returns how many bytes are of this import."""
        self._file.flush()
        return self._size() if self._has_begun else self._keep

    def close(self, *, keep: bool) -> None:
        """Ends the table, and takes it away if it is not to be kept."""
        self._file.flush()
        is_empty = not self._size()
        self._file.close()
        if is_empty or (self._has_begun and not keep):
            self.path.unlink(missing_ok=True)

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size
