"""Reads the rows of an uploaded file for the steps of an import."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ....rpc.errors import EmailNotVerified, ValidationError
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.actors import Actor
from ....values.file_addresses import MAX_ADDRESSES
from ....values.unrecognized import UnrecognizedCells
from ...custom_fields.rules import DataType
from ...custom_fields.store import ColumnField, column_fields
from ...custom_fields.store import types as custom_field_types
from ...custom_fields.value_conversion import with_types
from ...files.store import FileMissing
from ...files.store_content import Files
from ...operations.rules import JobRequest
from ...subscribers.csv_format import CUSTOM_FIELDS
from ...subscribers.history import Source
from ...subscribers.row_writer import (
    MAX_ROWS,
    MAX_ROWS_OF_AN_UPDATE,
    MAX_WEIGHT,
    OnConflict,
    Result,
    RowWriter,
)
from ...subscribers.rules import NewSubscriber, Row, Validated
from ...subscribers.store import SubscriberStore
from ..columns import FAILURE, ends_with_failure, is_without_failure
from ..dry_run import DryRun
from ..header import Header
from ..new_fields import NewFields, UnknownFields
from ..row_filter import RowFilter
from ..row_reader import Batch, RowReader, split_header
from .file_reader import FileMessage, FileReader
from .job_inspection import file_of
from .messages import delimiter_of, options_of, parse_options
from .rules import Progress
from .store import ImportRow

# The rows of a step before the weight of its rows is known.
FIRST_ROWS = 200
# A step is not longer than this by more than a message, because it and the next one are in memory.
MAX_STEP_BYTES = 512 * 1024


class _Part(NamedTuple):
    """A message and its rows after the line `after`, which are weighted as in `RowWriter`."""

    after: int
    message: FileMessage
    batch: Batch
    unrecognized: UnrecognizedCells | None
    weight: int


class Chunk(NamedTuple):
    """The rows of one step. `is_last` if none follow.

    `line` is the last line that was read, and `bytes` the number of bytes of the file.
    """

    rows: list[Row]
    validated: list[Validated]
    parts: list[_Part]
    line: int
    bytes: int
    is_last: bool


class ImportRun:
    """The state of one run of an import. `rows` are those of the steps that were returned."""

    def __init__(
        self,
        account_id: str,
        job: ImportRow,
        request: JobRequest,
        row_filter: RowFilter | None,
        database: Database,
        subscribers: SubscriberStore,
        files: Files,
    ) -> None:
        message = options_of(job.options)
        self.account_id, self.import_id, self._database = account_id, job.id, database
        self.actor: Actor | None = request.actor
        self.options = options = parse_options(message)
        self.progress = progress = job.run
        self.rows = progress.rows
        self._may_create = bool(request.job.get("mayCreateFields"))
        is_update = options.on_conflict is OnConflict.UPDATE
        self.max_rows = MAX_ROWS_OF_AN_UPDATE if is_update else MAX_ROWS
        file, delimiter = file_of(files, account_id, job), delimiter_of(job.options)
        self._file = FileReader(file, message.charset, self._read, delimiter=delimiter)
        self._parts = self._file.messages()
        self.reader = RowReader(options, row_filter)
        if not progress.dry_run:
            self.reader.after_line = progress.line
        since = progress.since or None
        self.writer = RowWriter(
            account_id, options.on_conflict, subscribers, Source.IMPORT, since=since
        )
        self.new_fields: NewFields | None = None
        # The label keys of the custom fields that columns set, by key, without new ones.
        self.own_fields: Mapping[str, str] = self.progress.fields
        # The data types of custom fields by key, by which the cells are read.
        self._types: Mapping[str, int] = {}
        self.unknown_fields = UnknownFields(
            account_id,
            options.columns,
            checks_consent=not options.is_own_export,
            may_create=self._may_create,
        )
        self.dry_run = DryRun(database, self.store_rows) if progress.dry_run else None
        self._ahead: asyncio.Task[Chunk] | None = None
        self._first: _Part | None = None
        # Whether the header was read, if there is one. Until then, rows are not validated.
        self._has_started = False
        # The rows of a step with the usual weight.
        self._usual_rows = FIRST_ROWS
        # The error in the file after the rows that were read.
        self._error: Exception | None = None

    async def start(self) -> None:
        """Reads the header, and the rows that a dry run has to repeat."""
        first = await anext(self._parts, None)
        if first is not None:
            header, _ = split_header(first.message.request, has_header=False)
            if header is not None:
                await self._read_header(list(header.cells))
                self.reader.last_line = header.number
                del first.message.request.lines[0]
                del first.message.texts[0]
        self._has_started = True
        if first is not None:
            self._first = await asyncio.to_thread(self._read, first.message)
        repeated = 0
        while self.dry_run is not None and repeated < self.progress.rows:
            # The limit is of lines, which can have several rows: none after the progress are read.
            left = self.progress.rows - repeated
            chunk = await self._gather(max(1, left // MAX_ADDRESSES))
            await self.dry_run.run(chunk.validated)
            repeated += len(chunk.rows)

    async def _read_header(self, cells: list[str]) -> None:
        fields = await self._database.read(partial(column_fields, self.account_id))
        columns = self.progress.columns
        if columns is not None:
            fields += _deleted(self.progress, fields)
        created: Mapping[int, str] = {int(key): each for key, each in (columns or {}).items()}
        # A run that continues has checked the header.
        header = Header(
            cells, fields, self.options.columns, created=created, is_checked=columns is None
        )
        self._types = {field.key: field.data_type for field in fields}
        if columns is None:
            new = self.new_fields = NewFields(self.account_id, header.columns, fields)
            if new.fields and not self._may_create:
                raise EmailNotVerified
            if new.by_position:
                all_fields = [*fields, *(field.column for field in new.fields)]
                header = Header(cells, all_fields, self.options.columns, created=new.by_position)
                self._types = {field.key: field.data_type for field in all_fields}
        self.reader.header = header
        used = {each for column in header.columns.known for each in column.fields}
        labels = {each.key: each.label_key for each in fields if CUSTOM_FIELDS + each.key in used}
        self.own_fields = {**self.progress.fields, **labels}

    async def next(self, max_rows: int, *, reads_ahead: bool) -> Chunk:
        """Returns the rows of the next step. With `reads_ahead`, begins to read the ones after."""
        chunk = await (self._ahead or self._gather(max_rows))
        self._ahead = None
        if reads_ahead and not chunk.is_last:
            self._ahead = asyncio.create_task(self._gather(max_rows))
        return chunk

    async def _gather(self, max_rows: int) -> Chunk:
        rows, validated, parts = list[Row](), list[Validated](), list[_Part]()
        weight = size = 0
        max_rows = min(max_rows, self.max_rows)
        part: _Part | None = None
        while len(rows) < max_rows and weight < MAX_WEIGHT and size < MAX_STEP_BYTES:
            if self._error is not None:
                raise self._error
            self._file.max_rows = min(max_rows - len(rows), self._usual_rows)
            try:
                part = self._first or await anext(self._parts, None)
            except (ValidationError, FileMissing) as error:
                # The rows before it are stored first.
                self._error = error
                if rows:
                    break
                raise
            self._first = None
            if part is None:
                break
            if not part.batch.rows:  # before the progress
                continue
            parts.append(part)
            rows += part.batch.rows
            validated += part.batch.validated
            weight += part.weight
            size += part.message.size
        if weight:
            self._usual_rows = max(FIRST_ROWS, MAX_WEIGHT * len(rows) // weight)
        is_last = part is None and self._error is None
        line = self.reader.last_line
        return Chunk(rows, validated, parts, line, self._file.bytes, is_last)

    def _read(self, message: FileMessage) -> _Part:
        """Validates the rows of a message. Runs in another thread."""
        after = self.reader.last_line
        if not self._has_started:
            return _Part(after, message, Batch([], []), None, 0)
        batch = self.reader.read(message.request, message.request.lines)
        unrecognized = self.reader.take_unrecognized() if batch.rows else None
        weight = sum(
            1 + len(row.tags) + len(row.values)
            for row in batch.validated
            if isinstance(row, NewSubscriber)
        )
        return _Part(after, message, batch, unrecognized, weight)

    def store_rows(self, rows: Sequence[Validated], tx: Transaction) -> list[Result]:
        """Stores rows. A dry run rolls back the transaction."""
        tx.actor = self.actor
        if self.dry_run is not None:
            if self.new_fields is not None:
                self.new_fields.create(tx)
            self.unknown_fields.create(tx)
        if self.reader.header is None:
            rows = self.unknown_fields.resolve(rows, tx)
        elif self._types:
            rows = self._with_types(rows, tx)
        return self.writer.store_rows(rows, tx)

    def _with_types(self, rows: Sequence[Validated], tx: Transaction) -> Sequence[Validated]:
        """Converts the values of custom fields whose data type was changed since the start."""
        now = custom_field_types(self.account_id, tx)
        changed = {key: now[key] for key, each in self._types.items() if now.get(key, each) != each}
        if not changed:
            return rows
        return [
            row._replace(values=with_types(row.values, changed))
            if isinstance(row, NewSubscriber)
            else row
            for row in rows
        ]

    def original(self, chunk: Chunk, line: int) -> Sequence[str]:
        """Returns the cells of a row as they are in the file, or the text of a JSON row."""
        after, message, *_ = next(each for each in reversed(chunk.parts) if each.after < line)
        header = self.reader.header
        if header is None:
            return [message.texts[line - after - 1].decode(errors="replace").strip()]
        lines = message.request.lines
        cells = [*lines[bisect_left(lines, line, key=lambda each: each.number)].cells]
        # Without the columns that an earlier file of failed rows added.
        has_failure = ends_with_failure(header.cells) and not is_without_failure(
            cells, header.cells
        )
        return cells[: -len(FAILURE)] if has_failure else cells

    async def aclose(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)
        await self._parts.aclose()


def _deleted(progress: Progress, fields: Sequence[ColumnField]) -> list[ColumnField]:
    """Returns the custom fields that columns set, but were deleted since the run started.

    Rows with a value for one fail, as if the run had not been interrupted.
    """
    of_columns = {**{key: key for key in (progress.columns or {}).values()}, **progress.fields}
    keys = {field.key for field in fields}
    return [
        ColumnField(key, label_key, DataType.TEXT)
        for key, label_key in of_columns.items()
        if key not in keys
    ]
