"""The checkpoint of an import, in a small file next to the imported one.

A stream writes it before the first row is sent, at most once a second after that, and when the run
is interrupted. A job stores only the import ID. Each write replaces the file atomically. It is
deleted when the import is complete.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from ...serving.console import notice
from ...values.reason_counts import ReasonCounts
from ..common.files import FileFormat, write_json_atomically
from .import_source import Source

INTERVAL_SECONDS = 1.0
# The number of lines that are listed.
MAX_LINES = 10
CREATED, UPDATED, SKIPPED, FAILED = "CREATED", "UPDATED", "SKIPPED", "FAILED"


@dataclass
class Tally:
    """The last line with a received result, and the rows per outcome and reason.

    `dropped` is the number of rows that were stored without some cells, and `dropped_lines` are the
    first of them.
    """

    line: int = 0
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((CREATED, UPDATED, SKIPPED, FAILED), 0)
    )
    reasons: ReasonCounts = field(default_factory=ReasonCounts)
    dropped: int = 0
    dropped_lines: list[int] = field(default_factory=list)

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
            self.reasons.add(result["reason"], str(self.line))
        if "droppedCells" in result:
            self.dropped += 1
            if self.dropped <= MAX_LINES and self.line not in self.dropped_lines[-1:]:
                self.dropped_lines.append(self.line)

    def as_json(self) -> dict[str, Any]:
        """Returns the members, by which a later run continues."""
        return {**vars(self), "reasons": self.reasons.as_json()}


@dataclass(frozen=True)
class Checkpoint:
    """The state of an import, and the size in bytes of the failures file that belongs to it."""

    tally: Tally
    failures: str
    failures_size: int


class CheckpointFile:
    """Reads and writes checkpoints. A checkpoint applies only to an import with the same `job`."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        self.path = path
        self._job = dict(job)
        self._due = 0.0
        # The last line that the stored checkpoint includes.
        self.line = 0

    @classmethod
    def of(
        cls,
        source: Source,
        service: str,
        key: str,
        file_format: FileFormat,
        options: Mapping[str, Any],
    ) -> CheckpointFile:
        """Returns the checkpoint of a file. `key` is the fingerprint of the API key."""
        job = {
            "file": list(source.identity),
            "service": service,
            "API key": key,
            "format": file_format.value,
            **({"options": dict(options)} if options else {}),
        }
        return cls(Path(f"{source.name}.roster-import"), job)

    def read(self) -> Checkpoint | None:
        """Returns the checkpoint of an earlier stream of the same job, if there is one.

        Prints a notice if there is one that does not apply.
        """
        content = self._content
        try:
            tally = content["tally"]
            tally = Tally(**{**tally, "reasons": ReasonCounts(tally["reasons"])})
            failures, failures_size = str(content["failures"]), int(content["failuresSize"])
        except (ValueError, KeyError, TypeError):
            if content:
                notice(f"{self.path} is not the checkpoint of a stream. Starting over.")
            return None
        return Checkpoint(tally, failures, failures_size) if self._applies(content) else None

    def read_import(self) -> str:
        """Returns the ID of an earlier import of the same job; empty if there is none."""
        content = self._content
        return str(content["import"]) if "import" in content and self._applies(content) else ""

    def is_of_stream(self) -> bool:
        return "tally" in self._content

    @cached_property
    def _content(self) -> Mapping[str, Any]:
        """The content of an earlier run, empty if there is none or it is not valid."""
        try:
            content: Mapping[str, Any] = orjson.loads(self.path.read_bytes())
            if "job" in content:
                return content
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError):
            pass
        notice(f"{self.path} is not valid. Starting over.")
        return {}

    def _applies(self, content: Mapping[str, Any]) -> bool:
        changed = [name for name, value in self._job.items() if content["job"].get(name) != value]
        if changed:
            notice(f"The {' and the '.join(changed)} changed since the last run. Starting over.")
        return not changed

    def is_due(self) -> bool:
        return time.monotonic() >= self._due

    def write(self, checkpoint: Checkpoint) -> None:
        """Replaces the checkpoint. Raises OSError."""
        content = {
            "job": self._job,
            "tally": checkpoint.tally.as_json(),
            "failures": checkpoint.failures,
            "failuresSize": checkpoint.failures_size,
        }
        write_json_atomically(self.path, content)
        self.line = checkpoint.tally.line
        self._due = time.monotonic() + INTERVAL_SECONDS

    def write_import(self, import_id: str) -> None:
        """Replaces the checkpoint by that of an import. Raises OSError."""
        write_json_atomically(self.path, {"job": self._job, "import": import_id})

    def delete(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            notice(f"{self.path} cannot be deleted: {error.strerror}.")
