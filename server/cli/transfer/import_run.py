"""One run of an import: rows to the service, and what became of each back from it.

Rows are sent and results are read at the same time, on one request, so that neither
side holds more than a few of them. An import of a file that breaks off leaves its
place behind (import_place.py) and goes on there when it is run again; how it tells
rows that were stored without a word from rows that were not is told in
import_tally.py. Lines that were told of are sent again and passed over by the
service: only it can tell where a row of a table begins.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from ...console import ExitCode, counted, say
from .errors import TransferError
from .files import Form
from .import_checkpoint import Kept, Place
from .import_counts import FAILED, Judge, OnConflict, Tally
from .import_failures import Failures
from .import_source import Source
from .progress import Bar
from .service_client import Remote, blocks, fingerprint, told_error

_CONTENT_TYPES = {Form.CSV: "text/csv", Form.NDJSON: "application/x-ndjson"}


@dataclass(frozen=True)
class Options:
    """What an import was told. The form is looked for in the source if it is None."""

    on_conflict: OnConflict
    form: Form | None
    failures: Failures | None
    resume: bool


class Run:
    """One run of an import, which begins at the start or where an earlier one came to."""

    def __init__(self, remote: Remote, source: Source, options: Options) -> None:
        self._remote = remote
        self._source = source
        self._options = options
        self._place: Place | None = None
        self.tally = Tally()
        self.resumed_after = 0
        self.failures = options.failures
        # Why the failed rows of a complete import could not be listed.
        self.unlisted: TransferError | None = None
        self._half_listed = ""

    async def run(self) -> None:
        """Imports all rows. Raises TransferError if that does not come to its end."""
        async with self._remote as remote:
            form = self._options.form or await self._source.look()
            # Asked first of all: a wrong key is found out before anything is sent.
            newest = (await remote.first(order="desc")).id
            kept = self._find_place(form)
            self._begin(kept, newest)
            judge = Judge(self._options.on_conflict, resumed=kept is not None)
            try:
                await self._send(form, judge)
            except BaseException as error:
                self._break_off(error, is_new=kept is None)
                raise
            self._finish()

    def hint(self, ending: ExitCode) -> str:
        """Returns how a run that ended early can go on; empty if it had not begun."""
        tally, hints = self.tally, []
        if ending in (ExitCode.BROKEN, ExitCode.INTERRUPTED) and self._place is not None:
            hints.append(f"Run the same command again to go on after line {self._place.line:,}.")
        elif tally.rows:
            hints.append(
                f"Up to line {tally.line:,}, {counted(tally.rows - tally.failed, 'row')} taken and"
                f" {tally.failed:,} failed. Begin again with --on-conflict skip."
            )
        elif self._source.fault:
            hints.append("No rows were taken.")
        if self._half_listed:
            hints.append(f"The rows that failed so far are listed in {self._half_listed}.")
        return " ".join(hints)

    def _find_place(self, form: Form) -> Kept | None:
        """Sees where an earlier run of the same import came to, if there is one."""
        if not self._source.can_resume:
            return None
        job = {
            "file": list(self._source.identity),
            "service": self._remote.url,
            "API key": fingerprint(self._remote.key),
            "format": form.value,
        }
        self._place = Place(Path(f"{self._source.name}.roster-import"), job)
        return self._place.read() if self._options.resume else None

    def _begin(self, kept: Kept | None, newest: str) -> None:
        """Takes over what an earlier run came to, or begins anew; and keeps the place."""
        self.tally = kept.tally if kept else Tally(newest)
        self.resumed_after = self.tally.line
        if self.failures is not None:
            same = kept is not None and kept.failures == os.path.abspath(self.failures.name)
            self.failures.open(kept.failures_size if kept and same else 0)
        if kept:
            say(f"Goes on after line {self.tally.line:,} of {self._source.name}.")
        self._keep_place()

    async def _send(self, form: Form, judge: Judge) -> None:
        """Sends all lines, and counts what is told of them meanwhile."""
        query = {"onConflict": judge.asked.upper(), "afterLine": str(self.tally.line)}
        try:
            async with self._remote.answer(
                "POST",
                "/api/subscribers/import",
                query,
                data=self._source.pieces(),
                expect100=True,  # so that a refusal comes before the rows are sent
                headers={"Content-Type": _CONTENT_TYPES[form]},
            ) as answer:
                with Bar(self.tally.line, self.tally.rows) as bar:
                    async for block in blocks(answer):
                        self._take(block, judge)
                        bar.show(self.tally.line, self.tally.rows, self._source.total_lines())
        except TransferError as error:
            # Rows before the place where a file is damaged may make no whole table.
            if self._source.fault:
                raise self._source.fault from error
            if error.ending is not ExitCode.BROKEN or not self._is_complete():
                raise
        if self._source.fault:
            raise self._source.fault
        if not self._source.ended:
            raise TransferError("The service ended before all rows were sent.", ExitCode.BROKEN)

    def _is_complete(self) -> bool:
        """Whether the result of the last row is there, whatever becomes of the connection then."""
        return self._source.ended and self.tally.line >= self._source.last_line > 0

    def _take(self, block: bytes, judge: Judge) -> None:
        for line in block.split(b"\n"):
            if not line:
                continue
            error = told_error(line)
            if error is not None:
                raise error
            result = judge.settle(orjson.loads(line), self.tally.newest)
            if self.failures is not None and result["outcome"] == FAILED:
                self.failures.add(result)
            self.tally.count(result)
        if self._place is not None and self._place.is_due():
            self._keep_place()

    def _keep_place(self) -> None:
        # The table first: what the place speaks of has to be in it.
        size = self.failures.flush() if self.failures else 0
        path = os.path.abspath(self.failures.name) if self.failures else ""
        if self._place is None:
            return
        try:
            self._place.keep(Kept(self.tally, path, size))
        except OSError as error:
            say(
                f"{self._place.path} cannot be written: {error.strerror}. A run that breaks off"
                " cannot go on."
            )
            self._place = None

    def _break_off(self, error: BaseException, *, is_new: bool) -> None:
        """Keeps the place, unless the service refused all of it: then there is none to keep."""
        refused = isinstance(error, TransferError) and error.ending is ExitCode.REFUSED
        if refused and is_new and not self.tally.line and self._place is not None:
            self._place.remove()
        else:
            # The place stays what it was if the table cannot be written.
            with suppress(TransferError):
                self._keep_place()
        if self.failures is not None:
            self._half_listed = self.failures.leave()

    def _finish(self) -> None:
        # The place first: a table that has replaced the file cannot be gone on with.
        if self._place is not None:
            self._place.remove()
        if self.failures is not None:
            try:
                self.failures.finish()
            except TransferError as error:
                self.unlisted = error
