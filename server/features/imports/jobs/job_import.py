"""The job that imports the rows of an uploaded file.

A step stores rows, their failures, and the progress in one transaction, so a row is stored exactly
once, also if the process is killed at any point. The rows of the next step are read and validated
while one is stored. A run that continues after a restart reads the file again up to its progress,
with the opt-outs that a filter has to apply to later rows, and stores only what follows. A dry run
stores nothing, so it repeats its rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from roster.v1 import subscribers_pb2 as pb

from ....rpc.errors import (
    EmailNotVerified,
    ImportNotFound,
    RosterError,
    Unavailable,
    ValidationError,
)
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.actors import Actor
from ....values.emails import parse_email
from ....values.unrecognized import UnrecognizedCells
from ...custom_fields.store import column_fields
from ...files.store import FileMissing
from ...files.store_content import Files
from ...operations.rules import JobRequest
from ...operations.store import OperationRow
from ...operations.store_jobs import JobStep, Pause
from ...operations.store_steps import tree_of
from ...subscribers.history import Source
from ...subscribers.query.tree import EVERYONE
from ...subscribers.row_writer import (
    MAX_ROWS,
    MAX_ROWS_OF_AN_UPDATE,
    MAX_WEIGHT,
    OnConflict,
    Outcome,
    Result,
    RowWriter,
)
from ...subscribers.rules import Failure, NewSubscriber, Row, RowError, Validated
from ...subscribers.store import SubscriberStore
from ...suppressions.store import Suppressions
from ..columns import DROPPED_CELLS, FAILURE, ends_with_failure, is_without_failure
from ..dry_run import DryRun
from ..header import Header
from ..messages import Options, Summary
from ..new_fields import NewFields, UnknownFields
from ..row_filter import RowFilter
from ..row_reader import RowReader, split_header
from . import store
from .file_reader import MAX_ROWS as MESSAGE_ROWS
from .file_reader import FileMessage, FileReader
from .job_inspection import file_of, missing_file
from .messages import add_unrecognized, preset_number, request_of, summary_json, summary_of
from .rules import Progress, State
from .runs import Runs
from .store import FailedRow, ImportRow

# A step of so many rows holds the database shortly while calls use it.
BUSY_ROWS = 200
_ERASED = RowError(Failure.FILTERED)


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

    async def next(self, max_rows: int) -> Chunk:
        """Returns the rows of the next step, and begins to read those after them."""
        chunk = await (self._ahead or self._gather(max_rows))
        self._ahead = None
        if not chunk.is_last:
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


class ImportRunner:
    """Runs the imports of all accounts as jobs."""

    def __init__(
        self,
        database: Database,
        subscribers: SubscriberStore,
        suppressions: Suppressions,
        files: Files,
    ) -> None:
        self._database = database
        self._subscribers = subscribers
        self._suppressions = suppressions
        self._files = files
        self._runs: Runs[ImportRun] = Runs()

    def is_waiting(self, _account_id: str, _row: OperationRow, _tx: Transaction) -> bool:
        return False

    async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        """Reads and validates the next rows; a dry run also stores them and rolls back."""
        is_busy = await pause(0)
        import_id = str(_request(row).job["importId"])
        try:
            run = await self._runs.take(row.id, row.processed, partial(self._open, account_id, row))
            try:
                chunk = await run.next(BUSY_ROWS if is_busy else MAX_ROWS)
                results = None
                if run.dry_run is not None:
                    results = await run.dry_run.run(chunk.validated)
            except BaseException:
                await run.aclose()
                raise
        except FileMissing:
            await self._record(account_id, import_id, missing_file())
            raise missing_file() from None
        except RosterError as error:
            if not isinstance(error, Unavailable):
                await self._record(account_id, import_id, error)
            raise
        if chunk.is_last:
            await run.aclose()
        else:
            run.rows = row.processed + len(chunk.rows)
            self._runs.keep(row.id, run)
        return JobStep(partial(self._commit, run, chunk, results), is_last=chunk.is_last)

    async def _open(self, account_id: str, row: OperationRow) -> ImportRun:
        request = _request(row)

        def read(tx: Transaction) -> tuple[ImportRow, Any]:
            job = store.find(account_id, str(request.job["importId"]), tx)
            is_filtered = bool(request.texts or request.q)
            return job, tree_of(account_id, row, tx) if is_filtered else EVERYONE

        job, tree = await self._database.read(read)
        row_filter = None if tree == EVERYONE else RowFilter(tree)
        run = ImportRun(
            account_id, job, request, row_filter, self._database, self._subscribers, self._files
        )
        try:
            await run.start()
        except BaseException:
            await run.aclose()
            raise
        return run

    async def _record(self, account_id: str, import_id: str, error: RosterError) -> None:
        """Stores why an import fails."""

        def put(tx: Transaction) -> None:
            job = store.find(account_id, import_id, tx)
            text = store.error_text(error.reason, error.message, error.details)
            store.put(account_id, job._replace(error=text), tx)

        await self._database.write(put)

    def _commit(
        self,
        run: ImportRun,
        chunk: Chunk,
        results: list[Result] | None,
        row: OperationRow,
        tx: Transaction,
    ) -> OperationRow:
        """Stores the rows of a step, their failures and the progress."""
        account_id = run.account_id
        job = store.find(account_id, run.import_id, tx)
        if job.operation_id != row.id:
            raise ImportNotFound
        progress = job.run
        summary = summary_of(progress)
        validated = self._without_erased(account_id, job, chunk.validated)
        if results is None:
            since = progress.since or tx.now * 1000
            run.writer.since = since
            if run.new_fields is not None and progress.columns is None:
                run.new_fields.create(tx)
            results = run.store_rows(validated, tx)
            progress = progress._replace(since=since)
            store.add_failures(
                account_id, job.id, self._failures(run, job, chunk, validated, results), tx
            )
        counts = Summary(summary)
        counts.add(chunk.rows, validated, results)
        summary = _with_columns(run, counts.message(), summary)
        for cells in chunk.unrecognized:
            add_unrecognized(summary, cells)
        progress = progress._replace(
            line=chunk.line,
            rows=progress.rows + len(chunk.rows),
            columns=_columns(run, progress),
            summary=summary_json(summary),
        )
        job = job._replace(progress=store.as_json(progress._asdict()))
        if chunk.is_last:
            job = _ended(account_id, job, progress, tx)
        store.put(account_id, job, tx)
        return row._replace(
            processed=progress.rows,
            changed=summary.created + summary.updated,
            unchanged=summary.skipped,
            failed=store.as_json(
                [
                    {"reason": each.reason, "total": each.total, "examples": [*each.examples]}
                    for each in summary.reasons
                    if each.reason != Failure.FILTERED.name
                ]
            ),
            after_id=f"{int(row.after_id or 0) + 1:010}",
        )

    def _without_erased(
        self, account_id: str, job: ImportRow, rows: Sequence[Validated]
    ) -> Sequence[Validated]:
        """Returns the rows, without those of erased persons."""
        erased = job.erased_hashes
        if not erased:
            return rows
        return [
            _ERASED
            if isinstance(row, NewSubscriber)
            and self._suppressions.hash_of(account_id, row.email.key) in erased
            else row
            for row in rows
        ]

    def _failures(
        self,
        run: ImportRun,
        job: ImportRow,
        chunk: Chunk,
        validated: Sequence[Validated],
        results: Sequence[Result],
    ) -> list[FailedRow]:
        """Returns the failed rows of a step with their cells, without those of erased persons."""
        erased, failed = job.erased_hashes, list[FailedRow]()
        for sent, each, result in zip(chunk.rows, validated, results, strict=True):
            error = result.row_error
            if result.outcome is Outcome.FAILED and error is not None:
                reason, field = error.failure.name, error.field or ""
            elif result.dropped:
                reason, field = DROPPED_CELLS, " ".join(result.dropped)
            else:
                continue
            if erased and not isinstance(each, NewSubscriber):
                email = parse_email(sent.email)
                if email and self._suppressions.hash_of(run.account_id, email.key) in erased:
                    continue
            cells = run.original(chunk, sent.line)
            failed.append(FailedRow(sent.line, reason, field, cells))
        return failed


def _request(row: OperationRow) -> JobRequest:
    content = row.content
    assert isinstance(content, JobRequest)
    return content


def _columns(run: ImportRun, progress: Progress) -> dict[str, str] | None:
    if progress.columns is not None or run.new_fields is None or progress.dry_run:
        return progress.columns
    return {str(position): key for position, key in run.new_fields.by_position.items()}


def _with_columns(
    run: ImportRun, summary: pb.ImportSummary, before: pb.ImportSummary
) -> pb.ImportSummary:
    """Returns a summary with what it states about columns."""
    header, unknown = run.reader.header, run.unknown_fields
    summary.dry_run = run.dry_run is not None
    created, ignored = list(before.created_fields), list(before.ignored_columns)
    if header is not None:
        if header.preset is not None:
            summary.preset = preset_number(header.preset.name)
        ignored = header.columns.ignored
        if run.new_fields is not None:
            created = [field.key for field in run.new_fields.fields] or created
    else:
        created = [*dict.fromkeys((*created, *unknown.created))]
        ignored = [*dict.fromkeys((*ignored, *unknown.ignored))]
    summary.created_fields.extend(created)
    summary.ignored_columns.extend(ignored)
    summary.unrecognized_cells.extend(before.unrecognized_cells)
    return summary


def _ended(account_id: str, job: ImportRow, progress: Progress, tx: Transaction) -> ImportRow:
    if progress.dry_run:
        return job._replace(state=State.READY)
    job = store.without_file(account_id, job, tx)
    return job._replace(state=State.SUCCEEDED, ended_at=tx.now, erased="")
