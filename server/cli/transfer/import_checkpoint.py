"""Where an import is, kept in a small file beside the one that is imported.

It is written before the first row is sent, then at most once a second, and when the
run breaks off; each time whole, under another name first, so that whatever happens
there is a whole one. It is removed when all rows have been told of.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ...console import say
from .files import write_whole
from .import_counts import Tally

SECONDS_BETWEEN = 1.0


@dataclass(frozen=True)
class Kept:
    """What an earlier run came to, and how much of the table of failures belongs to it."""

    tally: Tally
    failures: str
    failures_size: int


class Place:
    """The file that says how far an import has come. `job` is what has to be the same for both."""

    def __init__(self, path: Path, job: Mapping[str, Any]) -> None:
        self.path = path
        self._job = dict(job)
        self._due = 0.0
        # The last line of the rows that it says are done.
        self.line = 0

    def read(self) -> Kept | None:
        """Returns what an earlier run of the same job came to.

        Returns None, and says why, if what is kept belongs to another job; None too if
        there is nothing.
        """
        try:
            kept = orjson.loads(self.path.read_bytes())
            job, tally = kept["job"], Tally(**kept["tally"])
            failures, failures_size = str(kept["failures"]), int(kept["failuresSize"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            say(f"{self.path} cannot be understood; starts over.")
            return None
        changed = [name for name, value in self._job.items() if job.get(name) != value]
        if changed:
            say(f"The {' and the '.join(changed)} changed since the last run; starts over.")
            return None
        return Kept(tally, failures, failures_size)

    def is_due(self) -> bool:
        """Whether it is time to keep the place again."""
        return time.monotonic() >= self._due

    def keep(self, kept: Kept) -> None:
        """Writes the place. Raises OSError if it cannot be written."""
        content = {
            "job": self._job,
            "tally": kept.tally.as_json(),
            "failures": kept.failures,
            "failuresSize": kept.failures_size,
        }
        write_whole(self.path, content)
        self.line = kept.tally.line
        self._due = time.monotonic() + SECONDS_BETWEEN

    def remove(self) -> None:
        """Forgets the place of an import that is complete."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            say(f"{self.path} cannot be removed: {error.strerror}.")
