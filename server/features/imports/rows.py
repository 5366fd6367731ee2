"""Validates the rows of an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...values.file_addresses import parse_file_email
from ..subscribers.fields import PROFILE, Status
from ..subscribers.rules import (
    NO_CONSENT_RECORD,
    ConsentRecord,
    Row,
    TagSets,
    Validated,
    on_one_line,
    validate_row,
)


class ImportRow(NamedTuple):
    """A row as it was sent, with its line, the status that it states, times and consent."""

    line: int
    row: Row
    status: Status | None = None
    consent_record: ConsentRecord = NO_CONSENT_RECORD


def validate_import_rows(
    rows: Sequence[ImportRow], added_tags: Mapping[str, str]
) -> list[Validated]:
    """Returns a subscriber or an error for each row. `added_tags` are names by key."""
    tag_sets = TagSets(added_tags)
    for each in rows:
        for name in PROFILE:
            text = getattr(each.row, name, "")
            if not text.isprintable():
                setattr(each.row, name, on_one_line(text))
    return [
        validate_row(row, tag_sets, status, consent_record, parse_file_email)
        for _, row, status, consent_record in rows
    ]
