"""Parses the lines of a CSV file by its header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ...rpc.file_columns import AROUND_MALFORMED, check_header, column_name, null_key
from ...values.clock import system_clock
from ...values.file_addresses import parse_file_email
from ...values.texts import column_key, word_key
from ...values.unrecognized import UnrecognizedCells
from ..custom_fields.store import ColumnField
from ..subscribers.csv_format import CUSTOM_FIELDS
from ..subscribers.fields import Status
from ..subscribers.formulas import unescape_formula
from ..subscribers.rules import OPTED_OUT, ConsentRecord, strictest
from .cells import (
    OPTED_IN,
    OPTED_OUT_FLAG,
    CellError,
    Parse,
    field_parsers,
    flag_of,
    opt_out_in_tags,
    value_parser,
)
from .columns import Column, ColumnOptions, Columns, is_without_failure
from .consent_columns import StateKind, can_list_tags, state_kind
from .csv_row import CsvRow
from .evidence import stated_status
from .nested_values import JSON_STARTS, opt_out_in_cell
from .status_words import (
    COMMON_WORDS,
    OPT_OUT_WORDS,
    STATED_HINT,
    STATUSES,
    TAG_HINT,
    parse_status_map,
    status_in,
    status_in_tag,
)

_DEFAULTS = ColumnOptions()
_FLAGS = frozenset({OPTED_IN, OPTED_OUT_FLAG})
_CONSENT = _FLAGS | {"status"}
# The fields that state something about the consent of each row of a file.
_STATING = _CONSENT | {"isConfirmed", "confirmedAt", "unsubscribedAt"}
# The fields that are read from a line with too many or too few cells.
_OF_OPT_OUTS = _CONSENT | {"email", "unsubscribedAt"}


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
        created: Mapping[int, str] | None = None,
        *,
        is_checked: bool = True,
    ) -> None:
        """`created` are the keys of the custom fields for unknown columns, by position.

        Raises ValidationError if a column is unknown, a duplicate, or missing, or if there are too
        many. If the columns are not checked, these set what they can.
        """
        check_header(cells)
        fields = list(fields)
        self.cells = cells
        self.columns = Columns(cells, fields, options, created or {}, is_checked=is_checked)
        self._null_keys = options.null_keys
        self.unrecognized = UnrecognizedCells()
        self._rejected: tuple[CsvRow | None, int] = (None, 0)
        preset = self.preset = self.columns.preset
        self._is_own_export = preset is not None and not preset.is_lenient
        words = STATUSES if self._is_own_export else COMMON_WORDS
        mapped = parse_status_map(options.status_map)
        parsers = field_parsers(
            {**words, **(preset.statuses if preset else {}), **mapped},
            system_clock() if now is None else now,
            options.date_format,
            mapped=mapped,
            tags_are_quoted=preset is not None and preset.tags_are_quoted,
        ) | {
            CUSTOM_FIELDS + column.key: value_parser(
                column.key, column.data_type, options.date_format
            )
            for column in fields
        }
        # Highest rank first: the last parser of a field takes effect.
        by_rank = sorted(self.columns.known, key=lambda column: column.rank, reverse=True)
        self._parsers = [
            Parser(column.position, field, self._parser(column, field, parsers[field]))
            for column in by_rank
            for field in column.fields
        ]
        self._is_lenient = preset is not None and preset.is_lenient
        self._marks = _marks(self.columns, cells)
        self._opt_ins = [each.position for each in self._parsers if each.field == OPTED_IN]
        self._not_chosen = [] if self._is_own_export else self.columns.not_chosen
        names = self.columns.names
        kinds = {index: state_kind(names[index]) for index in self._not_chosen}
        self._of_states = {index: kind for index, kind in kinds.items() if kind is not None}
        self._of_tags = {index for index in self._not_chosen if can_list_tags(names[index])}
        self._states_consent = bool(self._marks.columns) or any(
            each.field in _STATING for each in self._parsers
        )

    def row(self, line: int, cells: Sequence[str], *, is_malformed: bool = False) -> CsvRow:
        """Returns a parsed line, with its faults.

        The cells of a malformed line, or of one with more or fewer than the header, may be in wrong
        columns. Only an opt-out is read from it.
        """
        is_complete = len(cells) == len(self.cells) or is_without_failure(cells, self.cells)
        if is_malformed or not is_complete:
            return self._of_wrong_length(line, cells)
        row = self._parsed(cells)
        row.line = line
        if row.stated:
            row.consent_record = ConsentRecord(**row.stated)
        if row.opt_out is not None or row.stated:
            row.status = stated_status(
                row.status,
                row.opt_out,
                row.consent_record,
                is_own_export=self._is_own_export,
                dates_status=not self._is_lenient,
            )
        return row

    def _parsed(self, cells: Sequence[str]) -> CsvRow:
        row = CsvRow()
        for index, field, parse in self._parsers:
            if not (cell := cells[index]) or cell.isspace():
                continue
            if self._null_keys and null_key(cell) in self._null_keys:
                continue
            try:
                parse(row, unescape_formula(cell) if cell[0] in "'=" else cell)
            except CellError as error:
                self._reject(row, index, field, cell, error.hint)
        for index in self._not_chosen:
            opt_out = status_in(cells[index], self._of_states.get(index))
            if opt_out is None and index in self._of_tags:
                opt_out = opt_out_in_tags(cells[index])
            if opt_out is None and cells[index].lstrip()[:1] in JSON_STARTS:
                opt_out = opt_out_in_cell(self.columns.names[index], cells[index])
            if opt_out is not None:
                row.opt_out = strictest(row.opt_out, opt_out)
                self.unrecognized.add(column_name(self.cells, index), cells[index], STATED_HINT)
        if row.name or row.display_name:
            row.split_name()
        # An empty cell is a box that is not checked.
        if not row.is_confirmed and any(not self._has_value(cells[i]) for i in self._opt_ins):
            row.is_confirmed = False
        if self._is_lenient:
            self._derive_status(row, cells)
        return row

    def _parser(self, column: Column, field: str, parse: Parse) -> Parse:
        """Returns a parser that also reads opt-outs in tags, unless the client chose the column."""
        if field != "tags" or not column.rank or self._is_own_export:
            return parse
        return partial(self._parse_tags, column_name(self.cells, column.position), parse)

    def _parse_tags(self, name: str, parse: Parse, row: CsvRow, cell: str) -> None:
        before = len(row.tags)
        parse(row, cell)
        for tag in row.tags[before:]:
            if (opt_out := status_in_tag(tag)) is not None:
                row.opt_out = strictest(row.opt_out, opt_out)
                self.unrecognized.add(name, tag, TAG_HINT)

    def _of_wrong_length(self, line: int, cells: Sequence[str]) -> CsvRow:
        """Returns a row with a fault, or only its address and status if these are an opt-out.

        Quotes and replaced NUL characters around the cells are ignored.

        The cells before a missing or additional one are in their columns from the left, the
        others from the right.
        """
        cells = [cell.strip(AROUND_MALFORMED) for cell in cells]
        count = len(self.cells)
        padding = [""] * (count - len(cells))
        row, status = CsvRow(line=line, faults=[""]), None
        of_states = dict[str, StateKind]()
        for aligned in ([*cells, *padding][:count], [*padding, *cells][-count:]):
            for index, field, parse in self._parsers:
                if field in _OF_OPT_OUTS and aligned[index].strip():
                    status = strictest(status, _clear_opt_out(row, field, parse, aligned[index]))
        for index, kind in self._of_states.items():
            start, end = sorted((index, index + len(cells) - count))
            of_states |= dict.fromkeys(cells[max(0, start) : end + 1], kind)
        # A line of 1 MiB can have a million cells, most of which are blank or equal.
        texts = {cell for cell in cells if cell and not cell.isspace()}
        if any(parser.field == "status" for parser in self._parsers):
            for word in map(word_key, texts):
                status = strictest(status, OPT_OUT_WORDS.get(word))
        if self._not_chosen:
            for cell in texts:
                stated = status_in(cell, of_states.get(cell)) or opt_out_in_cell("", cell)
                status = strictest(status, stated)
        if not parse_file_email(row.email):
            addresses = [cell for cell in cells if "@" in cell and parse_file_email(cell)]
            row.email = addresses[0] if len(addresses) == 1 else ""
        if status in OPTED_OUT and row.email:
            fields = dict.fromkeys(parser.field for parser in self._parsers)
            row.faults = [field for field in fields if field not in _OF_OPT_OUTS]
        row.status = status
        return row

    def _reject(self, row: CsvRow, index: int, field: str, cell: str, hint: str | None) -> None:
        """Reports a cell that could not be parsed.

        It fails the row. A lenient preset ignores it, unless it can state an opt-out.
        """
        # A column that sets several fields is counted once a row.
        rejected, column = self._rejected
        if rejected is not row or column != index:
            self._rejected = row, index
            self.unrecognized.add(column_name(self.cells, index), cell, hint)
        if not self._is_lenient or field in _CONSENT:
            row.faults.append(field)

    def _derive_status(self, row: CsvRow, cells: Sequence[str]) -> None:
        """Sets the status that the columns of another service imply."""
        marks, flags = self._marks, self._marks.flags
        if row.status is None and (not flags or any(self._has_value(cells[i]) for i in flags)):
            row.status = marks.default
            # Contacts who never subscribed are exported with the same columns.
            if (
                marks.has_confirmations
                and row.status is Status.CONFIRMED
                and "confirmed_at" not in row.stated
            ):
                row.status = Status.UNCONFIRMED
        has_reason = row.opt_out is not None and self._states(cells, marks.reasons)
        for index, status in marks.columns:
            if not has_reason and self._states(cells, [index]):
                row.opt_out = strictest(row.opt_out, status)
        if row.status is None and not row.is_confirmed and self._states_consent:
            row.status = Status.UNCONFIRMED

    def _states(self, cells: Sequence[str], columns: Sequence[int]) -> bool:
        """Whether a column has a value that is not a negative word."""
        values = [cells[index] for index in columns]
        return any(self._has_value(each) and flag_of(each) is not False for each in values)

    def _has_value(self, cell: str) -> bool:
        return bool(cell.strip()) and null_key(cell) not in self._null_keys


def _clear_opt_out(row: CsvRow, field: str, parse: Parse, cell: str) -> Status | None:
    """Returns the opt-out in a cell of a line whose cells may be in wrong columns.

    Sets the address of the row if the cell is one.
    """
    if field == OPTED_OUT_FLAG and flag_of(cell) is None:
        return None
    read = CsvRow()
    try:
        parse(read, cell)
    except CellError:
        return None
    if parse_file_email(read.email) and not parse_file_email(row.email):
        row.email = read.email
    if "unsubscribed_at" in read.stated:
        return Status.UNSUBSCRIBED
    return read.opt_out


class _Marks(NamedTuple):
    """The columns that give their status to rows with a value, and the status of other rows."""

    columns: Sequence[tuple[int, Status]] = ()
    default: Status | None = None
    has_confirmations: bool = False
    # The positions of flags. A row without any of them has no default.
    flags: Sequence[int] = ()
    # The positions of reasons of opt-outs. In a row with one, a mark is its date.
    reasons: Sequence[int] = ()


def _marks(header: Columns, cells: Sequence[str]) -> _Marks:
    columns, preset = header.known, header.preset
    has_statuses = any("status" in column.fields for column in columns)
    has_confirmations = any("confirmedAt" in column.fields for column in columns)
    if preset is None:
        return _Marks()
    marks = [
        (index, preset.marks[name])
        for index, name in enumerate(map(column_key, cells))
        if name in preset.marks
    ]
    if preset.lists_by_mark and len(marks) == 1 and not has_statuses:
        return _Marks(default=marks[0][1])
    # A column of opt-out dates is compared with the other dates of the row.
    dates = [column.position for column in columns if "unsubscribedAt" in column.fields]
    # Every value in a mark of a list is an opt-out, also if the client ignores the column.
    ignored = set[int]() if preset.lists_by_mark else header.ignored_by_client
    not_marks = ignored.union(dates)
    marks = [(index, status) for index, status in marks if index not in not_marks]
    flags = [column.position for column in columns if not _FLAGS.isdisjoint(column.fields)]
    can_have_flags = any(target in _FLAGS for target in preset.columns.values())
    is_known = not has_statuses and (bool(flags) or not can_have_flags)
    reasons = [each.position for each in columns if OPTED_OUT_FLAG in each.fields and each.rank]
    default = preset.status if is_known else None
    return _Marks(marks, default, has_confirmations, flags, reasons)
