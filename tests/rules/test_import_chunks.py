"""The transactions of an import."""

from __future__ import annotations

from typing import Any, cast

from rosterd.server.features.subscribers.history import Source
from rosterd.server.features.subscribers.row_writer import MAX_ROWS, OnConflict, RowWriter
from rosterd.server.features.subscribers.rules import Failure, RowError


def test_rows_of_a_line_are_stored_in_one_transaction() -> None:
    writer = RowWriter("", OnConflict.SKIP, cast(Any, None), Source.IMPORT)
    lines = [*range(1, MAX_ROWS), MAX_ROWS, MAX_ROWS, MAX_ROWS + 1]
    rows = [RowError(Failure.FILTERED)] * len(lines)

    assert [lines[each] for each in writer.chunks(lines, rows)] == [lines[:-1], lines[-1:]]
