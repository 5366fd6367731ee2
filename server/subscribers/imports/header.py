"""Parses the lines of a CSV file by its header."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...clock import system_clock
from ...custom_fields.store import ColumnField
from ...texts import column_key
from ...unrecognized import UnrecognizedCells
from ..csv_format import CUSTOM_FIELDS
from ..fields import Status
from ..formulas import unescape_formula
from .cells import STATUSES, CellError, Parse, field_parsers, value_parser
from .columns import Column, ColumnOptions, Columns
from .csv_row import CsvRow, RowFault
from .presets import Preset

_DEFAULTS = ColumnOptions()
# From the most mailable to the strictest.
_BY_STRICTNESS = (
    Status.CONFIRMED,
    Status.UNCONFIRMED,
    Status.UNSUBSCRIBED,
    Status.BOUNCED,
    Status.COMPLAINED,
)


class Parser(NamedTuple):
    """Parses the cells of a column into a field."""

    position: int
    field: str
    parse: Parse


class Header:
    """The columns of a CSV file. A blank cell has no value."""

    def __init__(
        self,
        cells: Sequence[str],
        fields: Iterable[ColumnField],
        options: ColumnOptions = _DEFAULTS,
        now: int | None = None,
    ) -> None:
        """Raises ValidationError if a column is unknown, a duplicate, or missing."""
        fields = list(fields)
        self._cells = cells
        self.columns = Columns(cells, fields, options)
        self.unrecognized = UnrecognizedCells()
        self._rejected: tuple[CsvRow | None, int] = (None, 0)
        preset = self.preset = self.columns.preset
        parsers = field_parsers(
            STATUSES | dict(preset.statuses if preset else {}),
            system_clock() if now is None else now,
            tags_are_quoted=preset is not None and preset.tags_are_quoted,
        ) | {
            CUSTOM_FIELDS + column.key: value_parser(column.key, column.data_type)
            for column in fields
        }
        # The last parser of a field takes effect, and is that of the lowest rank.
        by_rank = sorted(self.columns.known, key=lambda column: column.rank, reverse=True)
        self._parsers = [
            Parser(column.position, field, parsers[field])
            for column in by_rank
            for field in column.fields
        ]
        self._is_lenient = preset is not None and preset.is_lenient
        self._marks = _marks(self.columns.known, cells, preset)

    def row(self, cells: Sequence[str]) -> CsvRow:
        """Returns a parsed line, with its faults."""
        row = CsvRow()
        count = len(cells)
        if count > len(self._cells):
            row.faults.append(RowFault())
            return row
        for index, field, parse in self._parsers:
            if index >= count or not (cell := cells[index]) or cell.isspace():
                continue
            try:
                parse(row, unescape_formula(cell) if cell[0] == "'" else cell)
            except CellError:
                self._reject(row, index, field, cell)
        if row.name or row.display_name:
            row.split_name()
        if self._is_lenient:
            self._derive_status(row, cells)
        return row

    def _reject(self, row: CsvRow, index: int, field: str, cell: str) -> None:
        """Handles a cell that could not be parsed. A lenient preset reports and ignores it."""
        if not self._is_lenient:
            row.faults.append(RowFault(field))
            return
        # A column that sets several fields is counted once a row.
        rejected, column = self._rejected
        if rejected is not row or column != index:
            self._rejected = row, index
            self.unrecognized.add(self._cells[index], cell)
        if field == "status":
            row.status = Status.UNCONFIRMED

    def _derive_status(self, row: CsvRow, cells: Sequence[str]) -> None:
        """Sets the strictest status that the cells of a row of another service state."""
        if row.status is None:
            row.status = self._marks.default
            # Contacts who never subscribed are exported with the same columns.
            if self._marks.has_confirmations and "confirmed_at" not in row.consent_record:
                row.status = _stricter(row.status, Status.UNCONFIRMED)
        # A person who is CONFIRMED by a status word may have subscribed again since.
        is_stated = self._marks.has_statuses and row.status is Status.CONFIRMED
        if "unsubscribed_at" in row.consent_record and not is_stated:
            row.status = _stricter(row.status, Status.UNSUBSCRIBED)
        for index, status in self._marks.columns:
            if index < len(cells) and cells[index].strip():
                row.status = _stricter(row.status, status)
        if row.status is None and not row.is_confirmed:
            row.status = Status.UNCONFIRMED


class _Marks(NamedTuple):
    """The columns that give their status to rows with a value, and the status of other rows."""

    columns: Sequence[tuple[int, Status]] = ()
    default: Status | None = None
    has_statuses: bool = False
    has_confirmations: bool = False


def _marks(columns: Sequence[Column], cells: Sequence[str], preset: Preset | None) -> _Marks:
    has_statuses = any("status" in column.fields for column in columns)
    has_confirmations = any("confirmedAt" in column.fields for column in columns)
    if preset is None:
        return _Marks()
    marks = [
        (index, preset.marks[name])
        for index, name in enumerate(map(column_key, cells))
        if name in preset.marks
    ]
    # A file with one of the columns has only such people.
    if len(marks) == 1 and not has_statuses:
        return _Marks(default=marks[0][1])
    default = None if has_statuses else preset.status
    return _Marks(marks, default, has_statuses, has_confirmations)


def _stricter(first: Status | None, second: Status) -> Status:
    return second if first is None else max(first, second, key=_BY_STRICTNESS.index)
