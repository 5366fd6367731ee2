"""A parsed row of a CSV file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..subscribers.fields import Status


@dataclass(slots=True)
class RowFault:
    """A cell that could not be parsed; an empty field is the whole row."""

    field: str = ""


@dataclass(slots=True)
class CsvRow:
    """A parsed row, with the attributes of a row of a bulk.

    Fields of the profile without a cell are absent, except for the names. `consent_record` has the
    fields of `ConsentRecord` that the row states.
    """

    email: str = ""
    first_name: str = ""
    last_name: str = ""
    is_confirmed: bool = False
    tags: Sequence[str] = ()
    custom_fields: dict[str, Any] = field(default_factory=dict)
    faults: list[RowFault] = field(default_factory=list)
    status: Status | None = None
    # The strictest status that flags and marks state, see `evidence.py`.
    opt_out: Status | None = None
    consent_record: dict[str, Any] = field(default_factory=dict)
    # The full name, from its column, and the display name of the address.
    name: str = ""
    display_name: str = ""

    def split_name(self) -> None:
        """Fills the first and last name from the full name, without losing a word.

        If the row has one of them, the rest of the full name is the other one. If it has
        both, they must contain every word of the full name, or the row has a fault. The
        display name of the address is used only if the row has no other name.
        """
        name, first, last = self.name, self.first_name, self.last_name
        if not name:
            if first or last or not self.display_name:
                return
            name = self.display_name
        if first and last:
            if Counter(_words(name)) - Counter(_words(f"{first} {last}")):
                self.faults.append(RowFault("name"))
        elif first:
            self.last_name = _without_start(name.split(), first)
        elif last:
            self.first_name = _without_end(name.split(), last)
        else:
            first, _, last = name.rpartition(" ")
            self.first_name, self.last_name = (first.strip(), last) if first else (last, "")


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
