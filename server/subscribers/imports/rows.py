"""Validates the rows of an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..fields import Status
from ..rules import (
    MAX_TAGS,
    NO_CONSENT_RECORD,
    ConsentRecord,
    Failure,
    NewSubscriber,
    Row,
    RowError,
    Validated,
    validate_rows,
)


class ImportRow(NamedTuple):
    """A row as it was sent, with its line, status, times and consent."""

    line: int
    row: Row
    status: Status | None = None
    consent_record: ConsentRecord = NO_CONSENT_RECORD


def validate_import_rows(
    rows: Sequence[ImportRow], added_tags: Mapping[str, str]
) -> list[Validated]:
    """Returns a subscriber or an error for each row. `added_tags` are names by key."""
    validated = validate_rows(row.row for row in rows)
    return [
        _complete(new, row, added_tags) if isinstance(new, NewSubscriber) else new
        for row, new in zip(rows, validated, strict=True)
    ]


def _complete(new: NewSubscriber, row: ImportRow, added_tags: Mapping[str, str]) -> Validated:
    if row.status is None and row.consent_record is NO_CONSENT_RECORD and not added_tags:
        return new
    tags = new.tags
    if added_tags:
        # The spelling of the row is kept.
        tags = {**added_tags, **tags}
        if len(tags) > MAX_TAGS:
            return RowError(Failure.INVALID_TAG, "tags")
    status = new.status if row.status is None else row.status
    return NewSubscriber(
        new.email, new.profile, status, tags, new.values, row.consent_record, row.status is not None
    )
