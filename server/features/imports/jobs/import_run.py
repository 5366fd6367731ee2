"""Reads the rows of an uploaded file for the steps of an import."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ....rpc.errors import (
    EmailNotVerified,
    ValidationError,
)
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.actors import Actor
from ....values.unrecognized import UnrecognizedCells
from ...custom_fields.store import column_fields
from ...files.store import FileMissing
from ...files.store_content import Files
from ...operations.rules import JobRequest
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
from ..messages import Options
from ..new_fields import NewFields, UnknownFields
from ..row_filter import RowFilter
from ..row_reader import RowReader, split_header
from .file_reader import MAX_ROWS as MESSAGE_ROWS
from .file_reader import FileMessage, FileReader
from .job_inspection import file_of
from .messages import request_of
from .store import ImportRow


class Chunk(NamedTuple):
    """The rows of one step. `is_last` if none follow; `line` is the last line that was read."""

    rows: list[Row]
    validated: list[Validated]
    messages: list[tuple[int, FileMessage]]
    unrecognized: list[UnrecognizedCells]
    line: int
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
        message = request_of(job.options)
        self.account_id, self.import_id, self._database = account_id, job.id, database
        self.actor: Actor | None = request.actor
        self.options = options = Options(message)
        self.progress = progress = job.run
        self.rows = progress.rows
        self._may_create = bool(request.job.get("mayCreateFields"))
        is_update = options.on_conflict is OnConflict.UPDATE
        self.max_rows = MAX_ROWS_OF_AN_UPDATE if is_update else MAX_ROWS
        self._file = FileReader(
            file_of(files, account_id, job),
            message.charset,
            max_rows=min(MESSAGE_ROWS, self.max_rows),
        )
        self._messages = self._file.messages()
        self.reader = RowReader(options, row_filter)
        if not progress.dry_run:
            self.reader.after_line = progress.line
        since = progress.since or None
        self.writer = RowWriter(
            account_id, options.on_conflict, subscribers, Source.IMPORT, since=since
        )
        self.new_fields: NewFields | None = None
        self.unknown_fields = UnknownFields(
            account_id,
            options.columns,
            checks_consent=not options.is_own_export,
            may_create=self._may_create,
        )
        self.dry_run = DryRun(database, self.store_rows) if progress.dry_run else None
        self._ahead: asyncio.Task[Chunk] | None = None
        self._first: FileMessage | None = None
        # The error in the file after the rows that were read.
        self._error: Exception | None = None

    async def start(self) -> None:
        """Reads the header, and the rows that a dry run has to repeat."""
        self._first = await anext(self._messages, None)
        if self._first is not None:
            header, _ = split_header(self._first.request, has_header=False)
            if header is not None:
                await self._read_header(list(header.cells))
                self.reader.last_line = header.number
                del self._first.request.lines[0]
                del self._first.texts[0]
        repeated = 0
        while self.dry_run is not None and repeated < self.progress.rows:
            # One message, because steps end with any of them.
            chunk = await self._gather(1)
            await self.dry_run.run(chunk.validated)
            repeated += len(chunk.rows)

    async def _read_header(self, cells: list[str]) -> None:
        fields = await self._database.read(partial(column_fields, self.account_id))
        columns = self.progress.columns
        created: Mapping[int, str] = {int(key): each for key, each in (columns or {}).items()}
        header = Header(cells, fields, self.options.columns, created=created)
        if columns is None:
            new = self.new_fields = NewFields(self.account_id, header.columns, fields)
            if new.fields and not self._may_create:
                raise EmailNotVerified
            if new.by_position:
                all_fields = [*fields, *(field.column for field in new.fields)]
                header = Header(cells, all_fields, self.options.columns, created=new.by_position)
        self.reader.header = header

    async def next(self, max_rows: int, *, reads_ahead: bool) -> Chunk:
        """Returns the rows of the next step. With `reads_ahead`, begins to read the ones after."""
        chunk = await (self._ahead or self._gather(max_rows))
        self._ahead = None
        if reads_ahead and not chunk.is_last:
            self._ahead = asyncio.create_task(self._gather(max_rows))
        return chunk

    async def _gather(self, max_rows: int) -> Chunk:
        rows, validated = list[Row](), list[Validated]()
        messages, unrecognized = list[tuple[int, FileMessage]](), list[UnrecognizedCells]()
        weight = 0
        message: FileMessage | None = None
        while len(rows) < min(max_rows, self.max_rows) and weight < MAX_WEIGHT:
            if self._error is not None:
                raise self._error
            try:
                message = self._first or await anext(self._messages, None)
            except (ValidationError, FileMissing) as error:
                # The rows before it are stored first.
                self._error = error
                if rows:
                    break
                raise
            self._first = None
            if message is None:
                break
            messages.append((self.reader.last_line, message))
            request = message.request
            batch = await asyncio.to_thread(self.reader.read, request, request.lines)
            if batch.rows:
                unrecognized.append(self.reader.take_unrecognized())
            else:  # before the progress
                messages.pop()
            rows += batch.rows
            validated += batch.validated
            weight += sum(
                1 + len(row.tags) + len(row.values)
                for row in batch.validated
                if isinstance(row, NewSubscriber)
            )
        is_last = message is None and self._error is None
        return Chunk(rows, validated, messages, unrecognized, self.reader.last_line, is_last)

    def store_rows(self, rows: Sequence[Validated], tx: Transaction) -> list[Result]:
        """Stores rows. A dry run rolls back the transaction."""
        tx.actor = self.actor
        if self.dry_run is not None:
            if self.new_fields is not None:
                self.new_fields.create(tx)
            self.unknown_fields.create(tx)
        if self.reader.header is None:
            rows = self.unknown_fields.resolve(rows, tx)
        return self.writer.store_rows(rows, tx)

    def original(self, chunk: Chunk, line: int) -> Sequence[str]:
        """Returns the cells of a row as they are in the file, or the text of a JSON row."""
        first, message = next(each for each in reversed(chunk.messages) if each[0] < line)
        header = self.reader.header
        if header is None:
            return [message.texts[line - first - 1].decode(errors="replace").strip()]
        found = next(each for each in message.request.lines if each.number == line)
        cells = [*found.cells]
        # Without the columns that an earlier file of failed rows added.
        has_failure = ends_with_failure(header.cells) and not is_without_failure(
            cells, header.cells
        )
        return cells[: -len(FAILURE)] if has_failure else cells

    async def aclose(self) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)
        await self._messages.aclose()
