"""A parsed row of a CSV file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..subscribers.fields import Status
from ..subscribers.rules import Row


@dataclass(slots=True)
class CsvRow(Row):
    """A row, and what its cells state until all of them are parsed.

    `stated` has the fields of `ConsentRecord` that the row states.
    """

    custom_fields: dict[str, Any] = field(default_factory=dict)
    # The strictest status that flags, marks and words in other columns state, see `evidence.py`.
    # Words can also state UNCONFIRMED, which is no opt-out.
    opt_out: Status | None = None
    stated: dict[str, Any] = field(default_factory=dict)
    # The full name, from its column, and the display name of the address.
    name: str = ""
    display_name: str = ""

    def split_name(self) -> None:
        """Fills the first and last name from the full name, without losing a word.

        If the row has one of them, the rest of the full name is the other one. If it has
        both, they must contain every word of the full name, or the row has a fault. The
        display name of the address is used only if the row has no other name.
        """
        first, last = self.profile["first_name"], self.profile["last_name"]
        name = self.name or ("" if first or last else self.display_name)
        if not name:
            return
        if first and last:
            if Counter(_words(name)) - Counter(_words(f"{first} {last}")):
                self.faults.append("name")
        elif first:
            last = _without_start(name.split(), first)
        elif last:
            first = _without_end(name.split(), last)
        else:
            first, _, last = name.rpartition(" ")
            first, last = (first.strip(), last) if first else (last, "")
        self.profile |= {"first_name": first, "last_name": last}


def _words(name: str) -> list[str]:
    """Returns the words of a name without case and commas."""
    return name.replace(",", " ").casefold().split()


def _without_start(words: Sequence[str], first_name: str) -> str:
    """Returns the words after the first name, or all words if they do not start with it."""
    count = len(first_name.split())
    starts = _words(" ".join(words[:count])) == _words(first_name)
    return " ".join(words[count:] if starts else words)


def _without_end(words: Sequence[str], last_name: str) -> str:
    """Returns the words before the last name, or all words if they do not end with it."""
    count = len(words) - len(last_name.split())
    ends = count >= 0 and _words(" ".join(words[count:])) == _words(last_name)
    return " ".join(words[:count] if ends else words)
