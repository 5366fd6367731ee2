"""The job that inspects an uploaded file."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any

from roster.v1 import imports_pb2 as pb

from ....rpc.errors import (
    Detail,
    ImportNotFound,
    SegmentNotFound,
    SegmentWithoutFilter,
    ValidationError,
    invalid,
)
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.clock import Clock
from ...custom_fields.store import column_fields
from ...files.store import FileMissing
from ...files.store_content import Files
from ...operations.rules import JobRequest
from ...operations.store import OperationRow
from ...operations.store_jobs import JobStep, Pause
from ...subscribers.query.request import FilterExpressions, SegmentFilters
from . import store
from .file_reader import FileReader, check_charset
from .inspection import Inspection
from .messages import delimiter_of, options_of, parse_options
from .rules import Progress, State
from .runs import Runs
from .store import ImportRow

# Target duration of a step, after which its progress is stored.
STEP_SECONDS = 0.5


class InspectionJob:
    """Reads the whole file, in steps that store the number of rows so far."""

    def __init__(
        self, database: Database, files: Files, segments: SegmentFilters, clock: Clock
    ) -> None:
        self._database = database
        self._files = files
        self._segments = segments
        self._clock = clock
        self._runs: Runs[InspectionRun] = Runs()

    def is_waiting(self, _account_id: str, _row: OperationRow, _tx: Transaction) -> bool:
        return False

    async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        """Reads the next rows."""
        open_run = partial(self._open, account_id, row, pause)
        run = await self._runs.take(row.id, row.processed, open_run)
        try:
            until = time.monotonic() + STEP_SECONDS
            while not run.has_ended and time.monotonic() < until:
                await run.advance(pause)
        except BaseException:
            await run.aclose()
            raise
        if run.has_ended:
            await run.aclose()
        else:
            self._runs.keep(row.id, run)
        result = run.result() if run.has_ended else None
        commit = partial(_commit, account_id, _import_id(row), run.progress, result)
        return JobStep(commit, is_last=run.has_ended)

    async def _open(self, account_id: str, row: OperationRow, pause: Pause) -> InspectionRun:
        def read(tx: Transaction) -> tuple[ImportRow, list[Any]]:
            found = store.find(account_id, _import_id(row), tx)
            return found, column_fields(account_id, tx)

        job, fields = await self._database.read(read)
        problems = await self._filter_problems(account_id, job)
        run = InspectionRun(account_id, job, fields, problems, self._files)
        while not run.has_ended and run.rows < row.processed:
            await run.advance(pause)
        return run

    async def _filter_problems(self, account_id: str, job: ImportRow) -> Sequence[Detail]:
        """Returns why StartImport would reject the filter, the segment or the search."""
        options = options_of(job.options)
        filters = FilterExpressions(self._database, self._segments, self._clock, lambda: account_id)
        try:
            await filters.read(options.filter, options.segment_id, options.q)
        except ValidationError as error:
            return error.details
        except SegmentNotFound:
            return [Detail("segmentId", "INVALID_VALUE", "is not the identifier of a segment")]
        except SegmentWithoutFilter:
            return [Detail("segmentId", "INVALID_VALUE", "is a segment without a filter")]
        return []


class InspectionRun:
    """The state of one inspection."""

    def __init__(
        self,
        account_id: str,
        job: ImportRow,
        fields: list[Any],
        filter_problems: Sequence[Detail],
        files: Files,
    ) -> None:
        self.has_ended = False
        self._name = job.name
        self._filter_problems = filter_problems
        self._problem: ValidationError | None = None
        message = options_of(job.options)
        try:
            options, charset = parse_options(message), message.charset
            check_charset(charset)
        except ValidationError as error:
            # The options are checked when they are stored, by an earlier version too.
            self._problem, self.has_ended = error, True
            options, charset = parse_options(pb.ImportOptions()), ""
        self._inspection = Inspection(account_id, options, fields)
        file, delimiter = file_of(files, account_id, job), delimiter_of(job.options)
        self._reader = FileReader(file, charset, self._inspection.add, delimiter=delimiter)
        self._messages = self._reader.messages()

    @property
    def rows(self) -> int:
        return self._inspection.rows

    @property
    def progress(self) -> Progress:
        return Progress(rows=self.rows).with_summary({}, self._reader.bytes)

    async def advance(self, pause: Pause) -> None:
        """Reads the next message."""
        started = time.monotonic()
        try:
            rows = await anext(self._messages, None)
        except (ValidationError, FileMissing) as error:
            self.has_ended = True
            self._problem = error if isinstance(error, ValidationError) else missing_file()
            return
        if rows is None:
            self.has_ended = True
            return
        await pause(time.monotonic() - started)

    def result(self) -> dict[str, Any]:
        if self._problem is not None:
            self._inspection.add_problem(self._problem)
        self._inspection.check_name(self._name, *self._reader.names)
        result = self._inspection.result(self._reader.format, self._reader.delimiter)
        # Stored separately, because StartImport checks the filter and the segment again.
        return {
            **result,
            "charset": self._reader.charset,
            "filterProblems": self._filter_problems,
        }

    async def aclose(self) -> None:
        await self._messages.aclose()


def file_of(files: Files, account_id: str, job: ImportRow) -> Any:
    """Returns a function that returns the content of the file of an import."""

    async def content() -> AsyncGenerator[bytes, None]:
        if not job.file_id:
            raise FileMissing
        async for chunk in files.read(account_id, job.file_id):
            yield chunk

    return content


def missing_file() -> ValidationError:
    return invalid("", "REQUIRED", "is lost; create the import again")


def _import_id(row: OperationRow) -> str:
    content = row.content
    assert isinstance(content, JobRequest)
    return str(content.job["importId"])


def _commit(
    account_id: str,
    import_id: str,
    progress: Progress,
    result: dict[str, Any] | None,
    row: OperationRow,
    tx: Transaction,
) -> OperationRow:
    job = store.find(account_id, import_id, tx)
    if job.operation_id != row.id:
        raise ImportNotFound
    job = job._replace(progress=store.as_json(progress._asdict()))
    if result is not None:
        job = job._replace(state=State.READY, inspection=store.as_json(result))
    store.put(account_id, job, tx)
    # The text makes each step progress, also one without rows.
    return row._replace(processed=progress.rows, after_id=f"{int(row.after_id or 0) + 1:010}")
