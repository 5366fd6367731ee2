"""Runs an import as a job of the service: uploads the file, starts the import and reports its end.

The service inspects the whole file before it stores a row, and imports the rows in the background,
so an interrupted run is continued at any point: by its next part, or by waiting for its end. The ID
of the import is in a small file next to the imported one until then. The rows of the file of failed
rows are taken from the imported file, so that they are as they were.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, closing, suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from ...features.imports.columns import DROPPED_CELLS
from ...serving.console import CommandError, ExitCode, is_terminal, notice, pluralized
from ...values.reason_counts import ReasonCounts
from ..common.files import FileFormat
from ..common.flags import error_text
from ..common.progress import RowProgress
from ..common.service_client import ServiceClient, fingerprint, line_blocks
from .import_checkpoint import MAX_LINES, CheckpointFile, Tally
from .import_failures import Failures
from .import_options import OnConflict
from .import_rows import SentRows
from .import_source import Source
from .import_upload import (
    PRECEDED,
    TRANSIENT,
    Job,
    code_of,
    import_of,
    upload,
    with_retries,
)

MAX_BYTES = 2 << 30
# Seconds between requests for the state of the import, at first and at most.
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.02, 0.5
# Seconds for deleting an import that cannot be started.
_CLEANUP_SECONDS = 5.0
_ACTIVE = ("INSPECTING", "RUNNING")
# Errors of a service without imports as jobs.
_WITHOUT_JOBS = ("RouteNotFound", "MethodNotAllowed", "MethodNotImplemented")


class _Content(NamedTuple):
    """The unpacked content of a file."""

    size: int
    sha256: str


class ImportJobRun:
    """One run of an import as a job. Has the results of `ImportRun`.

    `query` has the options as the query parameters of a stream. If the file of failed rows is None,
    it is a file next to the imported one.
    """

    def __init__(
        self,
        client: ServiceClient,
        file: str,
        file_format: FileFormat | None,
        on_conflict: OnConflict,
        query: Mapping[str, str | list[str]],
        failures: Failures | None,
        *,
        resume: bool,
    ) -> None:
        self._client = client
        self._file = file
        self._given_format = file_format
        self.on_conflict = on_conflict
        self._options: dict[str, Any] = {**query, "onConflict": on_conflict.upper()}
        if "isConfirmed" in query:
            self._options["isConfirmed"] = True
        self._resume = resume
        self._checkpoint: CheckpointFile | None = None
        self._import_id, self._is_created = "", False
        self._phase = ""
        self.tally = Tally()
        self.resumed, self.resumed_after = False, 0
        self.summary: dict[str, Any] = {}
        self.failures = failures
        self.failures_error: CommandError | None = None

    async def run(self) -> bool:
        """Imports the file. Returns false, without effect, if it has to be streamed.

        That is, if the service has no imports as jobs, or the file is too large, damaged, of
        another format than its content shows, or an earlier stream of it is incomplete.
        """
        file_format, content = await self._read()
        if content is None:
            return False
        async with self._client:
            self._checkpoint = self._checkpoint_of(file_format)
            job = await self._found()
            if job is None and self._resume and self._has_stream():
                return False
            job = job or await self._created(content)
            if job is None:
                return False
            self._import_id = job["id"]
            try:
                if self.failures is None:
                    self.failures = Failures(f"{self._file}.failures.{file_format.value}")
                self.failures.open(0)
                await self._finish(job, content, file_format)
            except BaseException as error:
                if self.failures is not None:
                    self.failures.abort()
                await self._abort(error)
                raise
        return True

    def hint(self, code: ExitCode) -> str:
        """Returns how to continue an incomplete run; empty if it has not started."""
        if code not in (*TRANSIENT, ExitCode.INTERRUPTED):
            return ""
        if self._phase == "RUNNING":
            return (
                f"The import {self._import_id} continues in the service. Run the same command again"
                f" to wait for its end. POST /api/imports/{self._import_id}/cancel cancels it."
            )
        return "Run the same command again to continue." if self._import_id else ""

    async def _read(self) -> tuple[FileFormat, _Content | None]:
        """Returns the format, and the content unless it cannot be imported as a job."""
        digest, size = hashlib.sha256(), 0
        with closing(Source(self._file)) as source:
            detected = await source.detect_format()
            file_format = self._given_format or detected
            is_json = source.starts_as_json
            async for chunk in source.chunks():
                size += len(chunk)
                digest.update(chunk)
            fits = source.ended and 0 < size <= MAX_BYTES
        fits = fits and is_json == (file_format is FileFormat.NDJSON)
        return file_format, _Content(size, digest.hexdigest()) if fits else None

    def _has_stream(self) -> bool:
        """Whether an earlier stream of the file is incomplete."""
        return self._checkpoint is not None and self._checkpoint.is_of_stream()

    def _checkpoint_of(self, file_format: FileFormat) -> CheckpointFile:
        with closing(Source(self._file)) as source:
            return CheckpointFile.of(
                source, self._client.url, fingerprint(self._client.key), file_format, self._options
            )

    async def _found(self) -> Job | None:
        """Returns the import of an earlier run, unless it has ended early or is deleted."""
        if self._checkpoint is None or not self._resume:
            return None
        import_id = self._checkpoint.read_import()
        if not import_id:
            return None
        try:
            job = await import_of(self._client, import_id)
        except CommandError as error:
            if error.exit_code is not ExitCode.REJECTED:
                raise
            job = {"state": "DELETED"}
        if job["state"] in ("CANCELLED", "FAILED", "DELETED"):
            notice(f"The earlier import of this file was {job['state'].lower()}. Starting over.")
            return None
        notice(f"Continuing the import {import_id} of {self._file}.")
        return job

    async def _created(self, content: _Content) -> Job | None:
        """Creates an import. Returns None if the service has no imports as jobs."""
        body = {
            "name": os.path.basename(self._file)[:255],
            "size": content.size,
            "sha256": content.sha256,
            "options": self._options,
        }
        try:
            created = await self._client.post("/api/imports", body, fields=self._options)
            job: Job = created["import"]
        except CommandError as error:
            if code_of(error) in _WITHOUT_JOBS:
                return None
            raise
        except (LookupError, TypeError):
            raise self._client.not_roster() from None
        self._is_created = True
        self._write_checkpoint(job["id"])
        return job

    def _write_checkpoint(self, import_id: str) -> None:
        if self._checkpoint is None:
            return
        try:
            self._checkpoint.write_import(import_id)
        except OSError as error:
            path = self._checkpoint.path
            notice(
                f"{path} cannot be written: {error.strerror}. If this run is interrupted, it cannot"
                " be continued."
            )

    async def _finish(self, job: Job, content: _Content, file_format: FileFormat) -> None:
        """Does what is left of an import."""
        if job["state"] == "UPLOADING":
            received = int(job["received"])
            await upload(self._client, self._import_id, self._file, received, content.size)
        job = await self._settled("Inspecting")
        if job["state"] == "READY":
            self._show(job)
            await self._start()
            job = await self._settled("Importing")
        self._check(job)
        self._count(job["summary"])
        if self.tally.failed or self.tally.dropped:
            await self._list_failures(file_format)
        if self._checkpoint is not None:
            self._checkpoint.delete()
        try:
            assert self.failures is not None
            self.failures.finish()
        except CommandError as error:
            self.failures_error = error

    async def _start(self) -> None:
        try:
            path = f"/api/imports/{self._import_id}/start"
            await self._client.post(path, {}, fields=self._options)
        except CommandError as error:
            if code_of(error) not in PRECEDED:
                raise
            if (await import_of(self._client, self._import_id))["state"] == "READY":
                raise

    async def _settled(self, activity: str) -> Job:
        """Returns the import when none of its operations runs."""
        seconds = FIRST_POLL_SECONDS
        get = partial(import_of, self._client, self._import_id)
        with RowProgress(0, 0, phase=activity) as progress:
            while (job := await with_retries(get))["state"] in _ACTIVE:
                self._phase = job["state"]
                progress.show(int(job["processedBytes"]), job["processed"], int(job["size"]))
                await asyncio.sleep(seconds)
                seconds = min(2 * seconds, MAX_POLL_SECONDS)
        self._phase = job["state"]
        return job

    def _show(self, job: Job) -> None:
        """Prints what the inspection found, on a terminal."""
        if not is_terminal():
            return
        preset = f", preset {job['preset'].lower()}" if "preset" in job else ""
        notice(
            f"{self._file}: {pluralized(job['rows'], 'row')} of {job['format'].upper()}{preset}."
        )
        columns = [(each["name"], each["target"]) for each in job["columns"]]
        sets = ", ".join(f"{name}={target}" for name, target in columns if target)
        others = ", ".join(name for name, target in columns if not target)
        notice(f"Columns: {sets}." + (f" Not imported: {others}." if others else ""))

    def _check(self, job: Job) -> None:
        """Raises CommandError for an import that ended early."""
        if job["state"] == "SUCCEEDED":
            return
        if self._checkpoint is not None:
            self._checkpoint.delete()
        if job["state"] == "FAILED":
            raise CommandError(error_text(job["error"], self._options), ExitCode.REJECTED)
        raise CommandError("The import was canceled in the service.", ExitCode.INCOMPLETE)

    def _count(self, summary: dict[str, Any]) -> None:
        self.summary = summary
        self.tally.counts = {outcome: summary[outcome.lower()] for outcome in self.tally.counts}
        self.tally.reasons = ReasonCounts(summary["reasons"])
        self.tally.dropped = summary["rowsWithDroppedCells"]

    async def _list_failures(self, file_format: FileFormat) -> None:
        """Writes the failed rows, as they are in the imported file."""
        assert self.failures is not None
        rows = SentRows(file_format, str(self._options.get("charset", "")), 0)
        async with aclosing(self._failed()) as failed:
            failure = await anext(failed, None)
            with closing(Source(self._file)) as source:
                await source.detect_format()
                async for chunk in source.chunks():
                    rows.feed(chunk, is_last=False)
                    failure = await self._listed(rows, failure, failed)
                rows.feed(b"", is_last=True)
                await self._listed(rows, failure, failed)

    async def _listed(
        self, rows: SentRows, failure: Job | None, failed: AsyncIterator[Job]
    ) -> Job | None:
        """Writes the failures of the rows so far, and returns the next one."""
        assert self.failures is not None
        while failure is not None and failure["line"] <= rows.last_line:
            self.failures.add(rows.failed(failure), rows.start())
            if failure["reason"] == DROPPED_CELLS and len(self.tally.dropped_lines) < MAX_LINES:
                self.tally.dropped_lines.append(failure["line"])
            failure = await anext(failed, None)
        rows.pop(rows.last_line)
        return failure

    async def _failed(self) -> AsyncGenerator[Job]:
        path = f"/api/imports/{self._import_id}/failures"
        async with self._client.request("GET", path, {}) as response:
            async for block in line_blocks(response):
                for line in filter(None, block.split(b"\n")):
                    error = self._client.error_of_line(line)
                    if error is not None:
                        raise error
                    yield orjson.loads(line)

    async def _abort(self, error: BaseException) -> None:
        """Deletes an import of this run that cannot be started; others can be continued."""
        if not isinstance(error, CommandError) or self._phase not in ("", "READY"):
            return
        is_invalid = code_of(error) == "ValidationError"
        # The file of failed rows cannot be written.
        is_unusable = error.exit_code is ExitCode.USAGE
        if self._is_created and (is_invalid or is_unusable):
            with suppress(CommandError, TimeoutError):
                async with asyncio.timeout(_CLEANUP_SECONDS):
                    await self._delete()
        if self._checkpoint is not None and (is_invalid or (is_unusable and self._is_created)):
            self._checkpoint.delete()

    async def _delete(self) -> None:
        path = f"/api/imports/{quote(self._import_id, safe='')}"
        async with self._client.request("DELETE", path, {}):
            pass
