"""Compares the files of an account with their parts, and with the exports and imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..features.exports import store as exports
from ..features.files import store as files
from ..features.imports.jobs import store as imports
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


def check_files(account_id: str, tx: Transaction, findings: Findings) -> None:
    """Adds the differences of an account."""
    rows, in_parts = files.every(account_id, tx), files.bytes_in_parts(account_id, tx)
    for row in rows.values():
        name = f"the size of the file {row.id}"
        findings.expect(Check.FILES, name, row.size, in_parts.get(row.id, 0))
    for job in _jobs(account_id, tx):
        if job.file_id not in rows:
            findings.add(Check.MISSING_FILES, f"{job.name} has no file")
        elif job.size is not None:
            name = f"the size of the file of {job.name}"
            findings.expect(Check.FILES, name, rows[job.file_id].size, job.size)
    for file_id in _without_job(account_id, tx):
        findings.add(Check.FILES, f"the file {file_id} belongs to no export or import")
    for state in exports.every(account_id, tx):
        if state.operation.state == State.SUCCEEDED and not state.row.sha256:
            findings.add(Check.FILES, f"the export {state.row.id} has no checksum")


def delete_files_without_job(begin: Begin, account_id: str) -> list[Finding]:
    """Deletes the files that belong to nothing. A service removes their bytes on disk."""
    with begin(read_only=True) as tx:
        unused = _without_job(account_id, tx)
    findings = Findings()
    for file_id in unused:
        with paused_after(), begin() as tx:
            files.delete(account_id, file_id, tx)
        findings.add(Check.FILES, f"the file {file_id} belonged to no export or import")
    return findings.all()


def _jobs(account_id: str, tx: Transaction) -> Iterator[_Job]:
    """Yields the exports and imports that have a file now."""
    for state in exports.every(account_id, tx):
        if state.operation.is_running or state.operation.state == State.SUCCEEDED:
            yield _Job(f"the export {state.row.id}", state.row.file_id, None)
    for row in imports.every(account_id, tx):
        if row.file_id and row.expires_at > tx.now:
            yield _Job(f"the import {row.id}", row.file_id, row.received)


def _without_job(account_id: str, tx: Transaction) -> list[str]:
    used = {state.row.file_id for state in exports.every(account_id, tx)}
    used |= {row.file_id for row in imports.every(account_id, tx)}
    return sorted(files.every(account_id, tx).keys() - used)
