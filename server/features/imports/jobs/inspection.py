"""Determines what a file contains, and how its rows will be stored, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import orjson

from roster.v1 import rows_pb2

from ....rpc.errors import CustomFieldLimitReached, Detail, ValidationError, invalid
from ....rpc.file_columns import check_header, column_name
from ....values.reason_counts import ReasonCounts
from ....values.texts import column_key
from ...custom_fields.rules import DataType, check_values
from ...custom_fields.store import ColumnField
from ...custom_fields.value_conversion import text_of
from ...subscribers.csv_format import CUSTOM_FIELDS
from ...subscribers.fields import Status
from ...subscribers.rules import OPTED_OUT, NewSubscriber, Row, RowError, Validated
from ...subscribers.store import row_error_for, without_values
from ..cells import OPTED_OUT_FLAG
from ..column_types import MAX_EXAMPLE_LENGTH, ColumnTypes, ProposedType
from ..columns import FAILURE, ColumnOptions, UnknownColumns, ends_with_failure
from ..consent_columns import names_opt_outs, states_consent
from ..header import Header
from ..messages import Options
from ..new_fields import NewFields
from ..row_reader import RowReader, split_header
from .file_reader import FileMessage
from .rules import MAX_COLUMNS, MAX_SAMPLES

_MAX_EXAMPLES = 3
_STATES_OPT_OUTS = frozenset({"status", OPTED_OUT_FLAG})
_OPT_OUTS = (
    "looks like a list of people who opted out, but no row has an opt-out. Import it as"
    " suppressions, map a column to status or optedOut, or create the import again with another"
    " name."
)


class Inspection:
    """What the messages of one file contain. `rows` is the number of rows so far."""

    def __init__(self, account_id: str, options: Options, fields: Sequence[ColumnField]) -> None:
        self._account_id = account_id
        self._options = options
        self._fields = fields
        # The data types of the custom fields, with those that the import creates for columns.
        self._types = {field.key: field.data_type for field in fields}
        self._reader = RowReader(options)
        self._columns: dict[str, _Column] = {}
        self._by_position: list[_Column] = []
        self._samples: list[dict[str, Any]] = []
        self._statuses: Counter[Status] = Counter()
        self._invalid = ReasonCounts()
        self.problems: list[Detail] = []
        # Of the first error.
        self._message = ""
        self.rows = 0

    def add(self, message: FileMessage) -> int:
        """Adds the rows of a message, and returns their number."""
        header, lines = split_header(message.request, has_header=self._reader.header is not None)
        if header is not None:
            self._reader.last_line = header.number
            self._set_header(list(header.cells))
        for line in lines:
            if len(line.cells) == len(self._by_position):
                for column, cell in zip(self._by_position, line.cells, strict=True):
                    column.add(cell)
        if message.request.subscribers:
            self._add_objects(message.texts)
        rows, validated = self._reader.read(message.request, lines)
        self.rows += len(rows)
        for row, each in zip(rows, validated, strict=True):
            if isinstance(each, RowError):
                self._invalid.add(each.failure.name, str(row.line))
            else:
                self._statuses[each.status] += 1
            if len(self._samples) < MAX_SAMPLES:
                self._samples.append(_sample(row, _checked(each, self._types)))
        return len(rows)

    def add_problem(self, error: ValidationError) -> None:
        """Adds why the import cannot be started."""
        self.problems += error.details
        self._message = self._message or error.message

    def check_name(self, *names: str) -> None:
        """Adds a problem if the file has the name of a list of opt-outs, but no row states one.

        Not if the client has mapped a column to what states opt-outs.
        """
        is_listed = any(names_opt_outs(PurePath(name).name) for name in names)
        header = self._reader.header
        is_mapped = header is not None and any(
            column.rank == 0 and not _STATES_OPT_OUTS.isdisjoint(column.fields)
            for column in header.columns.known
        )
        if is_listed and self.rows and not is_mapped and OPTED_OUT.isdisjoint(self._statuses):
            self.add_problem(invalid("name", "INVALID_VALUE", _OPT_OUTS))

    def result(self, file_format: str, delimiter: str) -> dict[str, Any]:
        """Returns the fields of ImportJob that describe the file."""
        header = self._reader.header
        preset = header.preset.name if header is not None and header.preset is not None else ""
        if header is None and file_format == "csv":
            self.problems.append(Detail("email", "REQUIRED", "is a required column"))
        cells = list(header.cells) if header is not None else []
        columns = self._by_position or list(self._columns.values())
        date_format = self._options.columns.date_format
        return {
            **({"preset": rows_pb2.Import.Preset.Value(preset)} if preset else {}),
            "format": file_format,
            "delimiter": delimiter,
            # Of the file of failed rows.
            "header": cells[: -len(FAILURE)] if ends_with_failure(cells) else cells,
            "columns": [
                {
                    "name": column.name,
                    "target": column.target,
                    "filled": column.filled,
                    "examples": column.examples,
                    **_type_json(column.types.proposal(date_format) if column.types else None),
                    "looksLikeConsent": column.is_consent,
                    "unknown": column.is_unknown,
                }
                for column in columns[:MAX_COLUMNS]
            ],
            "problems": self.problems,
            "problemsMessage": self._message,
            "sample": self._samples,
            "rows": self.rows,
            "statuses": [
                {"status": int(status), "rows": count}
                for status, count in sorted(self._statuses.items())
            ],
            "invalid": self._invalid.as_json(),
        }

    def _set_header(self, cells: list[str]) -> None:
        check_header(cells)
        options = self._options.columns
        try:
            header = Header(cells, self._fields, options)
        except ValidationError as error:
            self.add_problem(error)
            header = self._unchecked_header(cells, options)
        try:
            new = NewFields(self._account_id, header.columns, self._fields)
        except ValidationError as error:
            self.add_problem(error)
        except CustomFieldLimitReached as error:
            self.add_problem(invalid("customFields", "TOO_MANY", error.message))
        else:
            self._types |= {field.key: field.data_type for field in new.fields}
            if created := new.by_position:
                fields = [*self._fields, *(field.column for field in new.fields)]
                header = Header(cells, fields, options, created=created, is_checked=False)
        self._reader.header = header
        unknown = {column.position for column in header.columns.unknown}
        fails = header.columns.action is UnknownColumns.FAIL
        targets = {column.position: column.fields for column in header.columns.known}
        for index, cell in enumerate(cells):
            fields_of = targets.get(index, ())
            is_custom = all(field.startswith(CUSTOM_FIELDS) for field in fields_of)
            self._by_position.append(
                _Column(
                    column_name(cells, index),
                    "+".join(fields_of),
                    ColumnTypes(cell, options.null_keys) if is_custom else None,
                    is_unknown=fails and index in unknown,
                )
            )

    def _unchecked_header(self, cells: list[str], options: ColumnOptions) -> Header:
        try:
            return Header(cells, self._fields, options, is_checked=False)
        except ValidationError:  # The map is not valid.
            options = options._replace(column_map=(), ignored=(), new_fields=())
            return Header(cells, self._fields, options, is_checked=False)

    def _add_objects(self, texts: Sequence[bytes]) -> None:
        for text in texts:
            try:
                members = orjson.loads(text)
            except orjson.JSONDecodeError:
                continue
            if not isinstance(members, dict):
                continue
            values = members.pop("customFields", None)
            custom = values if isinstance(values, dict) else {}
            for name, value in members.items():
                self._add_member(name, name, value)
            for name, value in custom.items():
                self._add_member(CUSTOM_FIELDS + name, CUSTOM_FIELDS + name, value)

    def _add_member(self, name: str, target: str, value: Any) -> None:
        column = self._columns.get(name)
        if column is None:
            if len(self._columns) == MAX_COLUMNS:
                return
            types = ColumnTypes(name) if name.startswith(CUSTOM_FIELDS) else None
            column = self._columns[name] = _Column(name, target, types)
        if isinstance(value, str):
            column.add(value)
        elif value is not None:
            column.add(orjson.dumps(value).decode())


class _Column:
    """A column with the number of its values and the first ones."""

    def __init__(
        self, name: str, target: str, types: ColumnTypes | None, *, is_unknown: bool = False
    ) -> None:
        self.name, self.target, self.types, self.is_unknown = name, target, types, is_unknown
        self.is_consent = states_consent(column_key(name))
        self.filled = 0
        self.examples: list[str] = []

    def add(self, cell: str) -> None:
        if not cell or cell.isspace():
            return
        self.filled += 1
        if len(self.examples) < _MAX_EXAMPLES:
            example = cell[:MAX_EXAMPLE_LENGTH]
            if example not in self.examples:
                self.examples.append(example)
        if self.types is not None:
            self.types.add(cell)


def _type_json(proposed: ProposedType | None) -> dict[str, Any]:
    if proposed is None:
        return {"proposedType": DataType.TEXT}
    counterexamples = proposed.counterexamples
    return {
        "proposedType": proposed.data_type,
        "counterexamples": counterexamples,
        **({"nearestType": proposed.nearest} if counterexamples else {}),
    }


def _checked(row: Validated, types: Mapping[str, int]) -> Validated:
    """Returns a row, or its error if a value does not have the type of its custom field.

    Of an opt-out, such values are left out. Values of other fields are not checked.
    """
    if isinstance(row, RowError):
        return row
    known = {key: value for key, value in row.values.items() if key in types}
    faults = check_values(known, types)
    if not faults:
        return row
    return without_values(row, faults) if row.is_opt_out else row_error_for(faults[0])


def _sample(row: Row, validated: Validated) -> dict[str, Any]:
    """Returns a row as ImportJob.Sample."""
    sample: dict[str, Any] = {"line": row.line, "email": row.email[:MAX_EXAMPLE_LENGTH]}
    if isinstance(validated, RowError):
        sample["reason"] = int(validated.failure)
        if validated.field:
            sample["field"] = validated.field
        return sample
    return sample | _stored(validated)


def _stored(row: NewSubscriber) -> dict[str, Any]:
    return {
        "email": row.email.address,
        "firstName": row.profile.get("first_name") or "",
        "lastName": row.profile.get("last_name") or "",
        "status": int(row.status),
        "tags": [*row.tags.values()],
        "customFields": {
            key: text_of(value) for key, value in row.values.items() if value is not None
        },
    }
