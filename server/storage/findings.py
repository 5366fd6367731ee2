"""Collects what a check of the database finds."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

# Examples that are kept of each check, so that a report does not grow with the database.
EXAMPLES = 5
# The errors of reading stored JSON and numbers that are not what they should be.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError)


class Check(StrEnum):
    """The name of a check; `deploy/README.md` describes each."""

    FILE = "file"
    ACCOUNTS = "accounts"
    COUNTERS = "counters"
    STATUS_TOTALS = "totals by status"
    TAG_TOTALS = "totals by tag"
    FLOWS = "daily statistics"
    REVISIONS = "revisions"
    HISTORY = "history"
    REFERENCES = "references"
    VALUES = "custom field values"
    FILES = "files"
    ORPHANED_FILES = "orphaned files"
    MISSING_FILES = "missing files"
    EVENTS = "events"
    DELIVERIES = "deliveries"
    SUPPRESSIONS = "suppressions"


# These are derived from other rows, so they can be counted again.
COUNTED = frozenset({Check.COUNTERS, Check.STATUS_TOTALS, Check.TAG_TOTALS})
# Orphaned files can be deleted.
REPAIRABLE = COUNTED | {Check.ORPHANED_FILES}
# These can be intended: lifting a suppression leaves no trace of a deleted subscriber, and files
# are in no backup.
UNCERTAIN = frozenset({Check.SUPPRESSIONS, Check.MISSING_FILES})


class Finding(NamedTuple):
    """The number of differences that a check found, and some of them in words."""

    check: Check
    total: int
    examples: list[str]

    @property
    def is_error(self) -> bool:
        return self.check not in UNCERTAIN


class Findings:
    """The differences that the checks of an account or a database have found so far."""

    def __init__(self) -> None:
        self._found: dict[Check, Finding] = {}

    def add(self, check: Check, example: str, count: int = 1) -> None:
        before = self._found.get(check, Finding(check, 0, []))
        if len(before.examples) < EXAMPLES:
            before.examples.append(example)
        self._found[check] = before._replace(total=before.total + count)

    def expect(self, check: Check, name: str, stored: object, expected: object) -> None:
        """Adds a difference unless two values are equal."""
        if stored != expected:
            self.add(check, f"{name} is {stored}, expected {expected}")

    def all(self) -> list[Finding]:
        return [self._found[check] for check in Check if check in self._found]
