"""Validates the rows of an import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...values.file_addresses import parse_file_email
from ..subscribers.fields import Kind, profile_fields
from ..subscribers.rules import Row, TagSets, Validated, on_one_line, validate_row

_TEXTS = profile_fields(Kind.TEXT)


def validate_import_rows(rows: Sequence[Row], added_tags: Mapping[str, str]) -> list[Validated]:
    """Returns a subscriber or an error for each row. `added_tags` are names by key."""
    tag_sets = TagSets(added_tags)
    for row in rows:
        for name in _TEXTS:
            if not row.profile[name].isprintable():
                row.profile[name] = on_one_line(row.profile[name])
    return [validate_row(row, tag_sets, parse_file_email) for row in rows]
