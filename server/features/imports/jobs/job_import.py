"""The job that imports the rows of an uploaded file.

A step stores rows, their failures, and the progress in one transaction, so a row is stored exactly
once, also if the process is killed at any point. The rows of the next step are read and validated
while one is stored. A run that continues after a restart reads the file again up to its progress,
with the opt-outs that a filter has to apply to later rows, and stores only what follows. A dry run
stores nothing, so it repeats its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from roster.v1 import subscribers_pb2 as pb

from ....rpc.errors import (
    ImportNotFound,
    RosterError,
    Unavailable,
)
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.emails import Email, addresses_in, parse_email, text_key
from ....values.file_addresses import all_addresses
from ...files.store import FileMissing
from ...files.store_content import Files
from ...operations.rules import JobRequest
from ...operations.store import OperationRow, error_text
from ...operations.store_jobs import JobStep, Pause
from ...operations.store_steps import tree_of
from ...subscribers.query.tree import EVERYONE
from ...subscribers.row_writer import (
    MAX_ROWS,
    Outcome,
    Result,
)
from ...subscribers.rules import Failure, NewSubscriber, RowError, Validated
from ...subscribers.store import SubscriberStore
from ...suppressions.store import Suppressions
from ..columns import DROPPED_CELLS
from ..messages import Summary
from ..row_filter import RowFilter
from . import store
from .import_run import Chunk, ImportRun
from .job_inspection import missing_file
from .messages import add_unrecognized, preset_number, summary_json, summary_of
from .rules import Progress, State
from .runs import Runs
from .store import FailedRow, ImportRow

# While calls use the database, a step has so many rows. More of them delay calls noticeably; fewer
# delay them as much, but are imported slower.
BUSY_ROWS = 50
_ERASED = RowError(Failure.FILTERED)


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
                max_rows = BUSY_ROWS if is_busy else MAX_ROWS
                chunk = await run.next(max_rows, reads_ahead=not is_busy)
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
            text = error_text(error.reason, error.message, error.details)
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
        failed = self._failures(run, job, chunk, results)
        store.add_failures(account_id, job.id, failed, tx)
        counts = Summary(summary)
        counts.add(chunk.rows, validated, results)
        summary = _with_columns(run, counts.message(), summary)
        for part in chunk.parts:
            if part.unrecognized is not None:
                add_unrecognized(summary, part.unrecognized)
        # A truncated cell can end within the address of an erased person.
        for cells in summary.unrecognized_cells if job.erased_hashes else ():
            cells.example = ""
            del cells.examples[:]
        progress = progress._replace(
            line=chunk.line,
            rows=progress.rows + len(chunk.rows),
            columns=_columns(run, progress),
        ).with_summary(summary_json(summary), chunk.bytes, run.own_fields)
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
            if isinstance(row, NewSubscriber) and self._hash(account_id, row.email) in erased
            else row
            for row in rows
        ]

    def _hash(self, account_id: str, email: Email) -> str:
        return self._suppressions.hash_of(account_id, text_key(email.address))

    def _failures(
        self,
        run: ImportRun,
        job: ImportRow,
        chunk: Chunk,
        results: Sequence[Result],
    ) -> list[FailedRow]:
        """Returns the failed rows of a step with their cells, without those of erased persons."""
        erased, failed = job.erased_hashes, list[FailedRow]()
        for sent, result in zip(chunk.rows, results, strict=True):
            error = result.row_error
            if result.outcome is Outcome.FAILED and error is not None:
                reason, field = error.failure.name, error.field or ""
            elif result.dropped:
                reason, field = DROPPED_CELLS, " ".join(result.dropped)
            else:
                continue
            # A line with several addresses has a row for each. A failure replaces dropped cells.
            if failed and failed[-1].line == sent.line:
                if reason == DROPPED_CELLS or failed[-1].reason != DROPPED_CELLS:
                    continue
                failed.pop()
            row = FailedRow(sent.line, reason, field, run.original(chunk, sent.line))
            texts = [*row.cells, sent.email]
            if not erased or not self._names_erased(run.account_id, erased, texts):
                failed.append(row)
        return failed

    def _names_erased(self, account_id: str, erased: Collection[str], texts: Sequence[str]) -> bool:
        """Whether a text has the address of an erased person."""
        keys = {key for text in texts for key in addresses_in(text)}
        keys |= {text_key(email.address) for email in map(parse_email, texts) if email}
        keys |= {text_key(address) for text in texts for address in all_addresses(text)}
        return any(self._suppressions.hash_of(account_id, key) in erased for key in keys)


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
