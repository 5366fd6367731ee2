"""Compares the files of an account with their parts, and with the exports and imports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..features.exports import store as exports
from ..features.exports.store import ExportState
from ..features.files import store as files
from ..features.files.store import FileRow
from ..features.imports.jobs import store as imports
from ..features.imports.jobs.store import ImportRow
from ..features.operations.rules import State
from ..storage.databases import Begin
from ..storage.findings import Check, Finding, Findings
from ..storage.transaction import Transaction
from .pauses import paused_after


class _Job(NamedTuple):
    """An export or import that has a file. `size` is that of the file, if it is stored there."""

    name: str
    file_id: str
    size: int | None


class _Contents(NamedTuple):
    """The files, exports and imports of an account."""

    files: Mapping[str, FileRow]
    exports: Sequence[ExportState]
    imports: Sequence[ImportRow]

    @classmethod
    def read(cls, account_id: str, tx: Transaction) -> _Contents:
        return cls(
            files.every(account_id, tx),
            exports.every(account_id, tx),
            imports.every(account_id, tx),
        )

    def jobs(self, now: int) -> Iterator[_Job]:
        """Yields the exports and imports that have a file now."""
        for state in self.exports:
            if state.operation.is_running or state.operation.state == State.SUCCEEDED:
                yield _Job(f"the export {state.row.id}", state.row.file_id, None)
        for row in self.imports:
            if row.file_id and row.expires_at > now:
                yield _Job(f"the import {row.id}", row.file_id, row.received)

    @property
    def orphaned(self) -> list[str]:
        """The IDs of the files that belong to no export or import."""
        used = {state.row.file_id for state in self.exports}
        used |= {row.file_id for row in self.imports}
        return sorted(self.files.keys() - used)


def check_files(account_id: str, tx: Transaction, findings: Findings) -> None:
    """Adds the differences of an account."""
    contents, in_parts = _Contents.read(account_id, tx), files.bytes_in_parts(account_id, tx)
    rows = contents.files
    for row in rows.values():
        name = f"the size of the file {row.id}"
        findings.expect(Check.FILES, name, row.size, in_parts.get(row.id, 0))
    for job in contents.jobs(tx.now):
        if job.file_id not in rows:
            findings.add(Check.MISSING_FILES, f"{job.name} has no file")
        elif job.size is not None:
            name = f"the size of the file of {job.name}"
            findings.expect(Check.FILES, name, rows[job.file_id].size, job.size)
    for file_id in contents.orphaned:
        findings.add(Check.ORPHANED_FILES, f"the file {file_id} belongs to no export or import")
    for state in contents.exports:
        if state.operation.state == State.SUCCEEDED and not state.row.sha256:
            findings.add(Check.FILES, f"the export {state.row.id} has no checksum")


def delete_orphaned_files(begin: Begin, account_id: str) -> list[Finding]:
    """Deletes the orphaned files of an account. A service removes their bytes on disk."""
    with begin(read_only=True) as tx:
        orphaned = _Contents.read(account_id, tx).orphaned
    findings = Findings()
    for file_id in orphaned:
        with paused_after(), begin() as tx:
            files.delete(account_id, file_id, tx)
        findings.add(Check.ORPHANED_FILES, f"the file {file_id} belonged to no export or import")
    return findings.all()
