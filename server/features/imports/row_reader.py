"""Reads and validates the rows of the messages of an import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb
from roster.v1.http_pb2 import CsvLine

from ...rpc.errors import invalid
from ...values.clock import system_clock
from ...values.file_addresses import all_addresses
from ...values.unrecognized import UnrecognizedCells
from ..subscribers.rules import OPTED_OUT, Row, Validated, validate_rows
from .evidence import add_defaults
from .header import Header
from .messages import Options, import_row
from .row_filter import RowFilter


class Batch(NamedTuple):
    """The rows of a message, and the validated rows."""

    rows: list[Row]
    validated: list[Validated]


class RowReader:
    """The rows of one import, in the order of its messages.

    `header` is set when the header of a CSV file is parsed. Rows up to the line `after_line` are
    left out. With a filter they are read too, because their opt-outs count for later rows.
    """

    def __init__(self, options: Options, row_filter: RowFilter | None = None) -> None:
        self._options = options
        self.filter = row_filter
        self.header: Header | None = None
        self.after_line = options.after_line
        self.last_line = 0
        # Whether a row after that line was read.
        self._has_passed = False
        # In JSON rows.
        self._unrecognized = UnrecognizedCells()

    @property
    def unrecognized(self) -> UnrecognizedCells:
        """The cells with unknown values of the rows that were read."""
        return self._unrecognized if self.header is None else self.header.unrecognized

    def take_unrecognized(self) -> UnrecognizedCells:
        """Returns the cells with unknown values since the last call."""
        taken = self.unrecognized
        self._reset_unrecognized()
        return taken

    def read(self, request: pb.ImportSubscribersRequest, lines: Iterable[CsvLine]) -> Batch:
        """Returns the rows of a message. `lines` are those after the header."""
        options = self._options
        rows = list(self._rows(request, lines))
        if not options.is_own_export:
            rows = [each for row in rows for each in _each_address(row)]
        if options.is_confirmed or options.consent_source:
            for row in rows:
                add_defaults(
                    row, is_confirmed=options.is_confirmed, consent_source=options.consent_source
                )
        validated = validate_rows(rows, options.added_tags, of_file=True)
        if self.filter is not None:
            validated = self.filter.apply(validated, system_clock())
            first = sum(row.line <= self.after_line for row in rows)
            rows, validated = rows[first:], validated[first:]
        return Batch(rows, validated)

    def _rows(
        self, request: pb.ImportSubscribersRequest, lines: Iterable[CsvLine]
    ) -> Iterator[Row]:
        for line in lines:
            number = line.number
            if 0 < number <= self.last_line:
                raise invalid("lines", "INVALID_VALUE", "must have ascending line numbers")
            self.last_line = number or self.last_line + 1
            if self._reads_row():
                assert self.header is not None
                cells = line.cells[:]
                yield self.header.row(self.last_line, cells, is_malformed=line.malformed)
        now = system_clock()
        for subscriber in request.subscribers:
            self.last_line += 1
            if self._reads_row():
                yield import_row(self.last_line, subscriber, now, self._options, self._unrecognized)

    def _reads_row(self) -> bool:
        """Whether to read the row of the last line. Cells of earlier rows are not counted again."""
        is_selected = self.last_line > self.after_line
        if is_selected and not self._has_passed:
            self._has_passed = True
            self._reset_unrecognized()
        return is_selected or self.filter is not None

    def _reset_unrecognized(self) -> None:
        self._unrecognized = UnrecognizedCells()
        if self.header is not None:
            self.header.unrecognized = UnrecognizedCells()


def _each_address(row: Row) -> Sequence[Row]:
    """Returns a row for each address of an opt-out, whose text can be a list of them.

    They have the line of the row, and drop the text of the address.
    """
    addresses = all_addresses(row.email) if row.status in OPTED_OUT else []
    if addresses in ([], [row.email]):
        return (row,)
    return [
        row if each == row.email else replace(row, email=each, faults=[*row.faults, "email"])
        for each in addresses
    ]


def split_header(
    request: pb.ImportSubscribersRequest, *, has_header: bool
) -> tuple[CsvLine | None, Sequence[CsvLine]]:
    """Returns the header of a message, if it is in there, and the lines after it.

    Raises ValidationError if subscribers and lines are mixed.
    """
    if request.subscribers and (request.lines or has_header):
        message = "cannot be used in the same import as lines"
        raise invalid("subscribers", "INVALID_VALUE", message)
    if not request.lines or has_header:
        return None, request.lines
    header, *lines = request.lines
    return header, lines
