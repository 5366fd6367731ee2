"""Runs an import as a stream: sends rows to the service, and counts and lists their results.

Rows are sent and results are read concurrently on one request, so memory use is bounded on both
sides. An incomplete import of a file leaves a checkpoint (`import_checkpoint.py`), from which the
next run resumes. All lines are sent again, and the service skips those before the checkpoint,
because only the service determines where a CSV row starts. Rows that were stored without a received
result are imported again, so a resumed run skips existing addresses unless it updates them. A line
with several addresses has several results, so those of a line count when the next record arrives.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import orjson

from ...serving.console import CommandError, ExitCode, notice, pluralized
from ..common.files import CONTENT_TYPES, FileFormat
from ..common.progress import RowProgress
from ..common.service_client import ServiceClient, fingerprint, line_blocks
from .import_checkpoint import Checkpoint, CheckpointFile, Tally
from .import_failures import Failures
from .import_options import OnConflict
from .import_rows import SentRows, failure_of
from .import_source import Source

# Exit codes that mean no row was imported, unless a result was received.
_REJECTED = (ExitCode.REJECTED, ExitCode.UNREACHABLE)


class ImportRun:
    """One run of an import as a stream.

    If the format is None, it is detected from the content. If the file of failed rows is None,
    it is a file next to the imported one. `query` has the query parameters of the request.
    """

    def __init__(
        self,
        client: ServiceClient,
        source: Source,
        file_format: FileFormat | None,
        on_conflict: OnConflict,
        query: Mapping[str, str | list[str]],
        failures: Failures | None,
        *,
        resume: bool,
    ) -> None:
        self._client = client
        self._source = source
        self._format = file_format
        self._on_conflict = on_conflict
        self._query = query
        self._resume = resume
        self._checkpoint: CheckpointFile | None = None
        self.tally = Tally()
        # The results so far of the last line.
        self._results: list[dict[str, Any]] = []
        self.resumed = False
        self.resumed_after = 0
        # Of this run only, not of the runs that it resumes.
        self.summary: dict[str, Any] = {}
        self.failures = failures
        # Set if the failed rows of a complete import could not be written.
        self.failures_error: CommandError | None = None
        self._partial_failures_path = ""

    async def run(self) -> bool:
        """Imports all rows, and returns true. Raises CommandError if the import is incomplete."""
        async with self._client:
            file_format = self._format or await self._source.detect_format()
            if self.failures is None and self._source.can_resume:
                self.failures = Failures(f"{self._source.name}.failures.{file_format.value}")
            self._start(self._read_checkpoint(file_format))
            try:
                await self._send(file_format)
            except BaseException as error:
                self._abort(error)
                raise
            self._finish()
        return True

    @property
    def on_conflict(self) -> OnConflict:
        """The action to request from the service."""
        if self.resumed and self._on_conflict is OnConflict.FAIL:
            return OnConflict.SKIP
        return self._on_conflict

    def hint(self, code: ExitCode) -> str:
        """Returns how to resume an incomplete run; empty if it has not started."""
        tally, hints = self.tally, []
        if code in (ExitCode.INCOMPLETE, ExitCode.INTERRUPTED) and self._checkpoint is not None:
            line = self._checkpoint.line
            hints.append(f"Run the same command again to resume after line {line:,}.")
        elif tally.rows:
            accepted = pluralized(tally.rows - tally.failed, "row")
            hints.append(
                f"Up to line {tally.line:,}, {accepted} were accepted and {tally.failed:,} failed."
                " To import the rest, start over with --on-conflict skip."
            )
        elif self._source.error:
            hints.append("No rows were imported.")
        if self._partial_failures_path:
            hints.append(f"The failed rows so far are listed in {self._partial_failures_path}.")
        return " ".join(hints)

    def _read_checkpoint(self, file_format: FileFormat) -> Checkpoint | None:
        """Returns the checkpoint from which this run resumes, if there is one."""
        if not self._source.can_resume or "dryRun" in self._query:
            return None
        key = fingerprint(self._client.key)
        self._checkpoint = CheckpointFile.of(
            self._source, self._client.url, key, file_format, self._query
        )
        return self._checkpoint.read() if self._resume else None

    def _start(self, checkpoint: Checkpoint | None) -> None:
        self.resumed = checkpoint is not None
        self.tally = checkpoint.tally if checkpoint else Tally()
        self.resumed_after = self.tally.line
        if self.failures is not None:
            path = os.path.abspath(self.failures.name)
            is_same_file = checkpoint is not None and checkpoint.failures == path
            self.failures.open(checkpoint.failures_size if checkpoint and is_same_file else 0)
        if checkpoint:
            notice(f"Resuming after line {self.tally.line:,} of {self._source.name}.")
        self._write_checkpoint()

    async def _send(self, file_format: FileFormat) -> None:
        """Sends all lines and counts their results."""
        charset = str(self._query.get("charset", ""))
        rows = SentRows(file_format, charset, self.tally.line)
        query = {
            **self._query,
            "onConflict": self.on_conflict.upper(),
            "afterLine": str(self.tally.line),
        }
        try:
            async with self._client.request(
                "POST",
                "/api/subscribers/import",
                query,
                data=self._chunks(rows),
                headers={"Content-Type": CONTENT_TYPES[file_format]},
            ) as response:
                with RowProgress(self.tally.line, self.tally.rows) as progress:
                    async for block in line_blocks(response):
                        self._count(block, rows)
                        total = self._source.total_lines(rows.last_line)
                        progress.show(self.tally.line, self.tally.rows, total)
        except CommandError as error:
            # The service may have rejected a row that a damaged file truncated.
            if self._source.error:
                raise self._source.error from error
            if error.exit_code is not ExitCode.INCOMPLETE or not self._is_complete(rows):
                raise
        self._count_line(rows)
        if self._source.error:
            raise self._source.error
        if not self._source.ended:
            raise CommandError(
                "The service ended the response before all rows were sent.", ExitCode.INCOMPLETE
            )

    async def _chunks(self, rows: SentRows) -> AsyncIterator[bytes]:
        async for chunk in self._source.chunks():
            rows.feed(chunk)
            yield chunk
        rows.feed(b"", is_last=True)

    def _is_complete(self, rows: SentRows) -> bool:
        """Returns whether the result of the last row was received."""
        line = self._results[0]["line"] if self._results else self.tally.line
        return self._source.ended and line >= rows.last_line > 0

    def _count(self, block: bytes, rows: SentRows) -> None:
        for line in block.split(b"\n"):
            if not line:
                continue
            error = self._client.error_of_line(line)
            if error is not None:
                self._count_line(rows)
                raise error
            try:
                result = orjson.loads(line)
            except ValueError:
                raise self._client.not_roster() from None
            if self._results and result.get("line") != self._results[0]["line"]:
                self._count_line(rows)
            if "summary" in result:
                self.summary = result["summary"]
            else:
                self._results.append(result)
        if self._checkpoint is not None and self._checkpoint.is_due():
            self._write_checkpoint()

    def _count_line(self, rows: SentRows) -> None:
        """Counts the results of the last line, and lists those that failed."""
        for result in self._results:
            if self.failures is not None and (failure := failure_of(result)) is not None:
                self.failures.add(rows.failed(failure), rows.start())
            else:
                rows.pop(result["line"])
            self.tally.count(result)
        self._results = []

    def _write_checkpoint(self) -> None:
        # The failures are flushed first, so that they include all rows of the checkpoint.
        size = self.failures.flush() if self.failures else 0
        path = os.path.abspath(self.failures.name) if self.failures else ""
        if self._checkpoint is None:
            return
        try:
            self._checkpoint.write(Checkpoint(self.tally, path, size))
        except OSError as error:
            notice(
                f"{self._checkpoint.path} cannot be written: {error.strerror}. If this run is"
                " interrupted, it cannot be resumed."
            )
            self._checkpoint = None

    def _abort(self, error: BaseException) -> None:
        """Writes a last checkpoint, or deletes it if no row was imported."""
        rejected = isinstance(error, CommandError) and error.exit_code in _REJECTED
        if rejected and not self.resumed and not self.tally.line and self._checkpoint is not None:
            self._checkpoint.delete()
        else:
            # The previous checkpoint stays if the failures cannot be written.
            with suppress(CommandError):
                self._write_checkpoint()
        if self.failures is not None:
            self._partial_failures_path = self.failures.abort()

    def _finish(self) -> None:
        # Deleted first: an import cannot resume once its file of failed rows has been replaced.
        if self._checkpoint is not None:
            self._checkpoint.delete()
        if self.failures is not None:
            try:
                self.failures.finish()
            except CommandError as error:
                self.failures_error = error
