"""Stores exports. The request and the progress of an export are those of its operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...rpc.errors import ExportLimitReached, ExportNotFound
from ...rpc.paging import Page
from ...storage.resource import Resource
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ..files import store as files
from ..operations import store as operations
from ..operations.rules import JobRequest, State, Type
from ..operations.store import OperationRow
from .models import SubscriberExport

# The exports of an account that have not been deleted.
MAX_EXPORTS = 20
# How long a file is kept after the last progress of its export.
RETENTION_MILLISECONDS = 24 * 3600 * 1000
_ERASED = "The export was deleted, because the data of a person was erased. Start another one."


class ExportRow(NamedTuple):
    """An export; `sha256` is empty until the file is complete. Times in milliseconds."""

    id: str
    file_id: str
    sha256: str
    expires_at: int


class ExportState(NamedTuple):
    """An export with its operation, and the size of its file in bytes."""

    row: ExportRow
    operation: OperationRow
    size: int

    @property
    def job(self) -> dict[str, Any]:
        content = self.operation.content
        assert isinstance(content, JobRequest)
        return content.job

    def as_json(self) -> dict[str, Any]:
        """Returns the export as the API returns it."""
        operation = self.operation.as_json()
        names = ("id", "state", "done", "filter", "segmentId", "q", "total", "processed")
        export = {name: operation[name] for name in (*names, "failed", "createdAt")}
        for name in ("endedAt", "actor", "error"):
            if name in operation:
                export[name] = operation[name]
        return {
            **export,
            **{name: self.job[name] for name in ("format", "view", "columns")},
            "size": self.size,
            "sha256": self.row.sha256,
            "expiresAt": iso8601(self.row.expires_at),
        }


_EXPORTS = Resource(
    ExportRow,
    SubscriberExport.id,
    ExportNotFound,
    descending=True,
    changed=(SubscriberExport.sha256, SubscriberExport.expires_at),
    among=SubscriberExport.expires_at > param("now"),
)
find_row = _EXPORTS.find
_ALL = Statement(lambda _: SubscriberExport.select(*_EXPORTS.columns).where(_EXPORTS.in_account))
_EXPIRED = _EXPORTS.in_account & (SubscriberExport.expires_at <= param("now"))
_HAS_EXPIRED = Statement(lambda _: SubscriberExport.select(SubscriberExport.id).where(_EXPIRED))
_PURGE = Statement(lambda _: SubscriberExport.delete().where(_EXPIRED))


def create(account_id: str, request: JobRequest, total: int, tx: Transaction) -> ExportState:
    """Stores an export and its operation.

    Raises ExportLimitReached and OperationLimitReached.
    """
    if _EXPORTS.count(account_id, tx) >= MAX_EXPORTS:
        raise ExportLimitReached(MAX_EXPORTS)
    operation = operations.create_job(account_id, request, total, tx)
    expires_at = tx.now + RETENTION_MILLISECONDS
    file = files.create(account_id, expires_at, tx)
    row = ExportRow(operation.id, file.id, "", expires_at)
    _EXPORTS.insert(account_id, row, tx)
    return ExportState(row, operation, 0)


def find(account_id: str, export_id: str, tx: Transaction) -> ExportState:
    """Returns an export. Raises ExportNotFound, also if it was deleted or has expired."""
    return _with_operations(account_id, [find_row(account_id, export_id, tx)], tx)[0]


def page(
    account_id: str, page: Page, tx: Transaction
) -> tuple[list[ExportState], int, Page | None]:
    """Returns the exports of a page, newest first, the number of all, and the next page."""
    rows, total, following = _EXPORTS.page(account_id, page, tx)
    return _with_operations(account_id, rows, tx), total, following


def _with_operations(
    account_id: str, rows: Sequence[ExportRow], tx: Transaction
) -> list[ExportState]:
    found = operations.find_each(account_id, [row.id for row in rows], tx)
    sizes = files.sizes(account_id, [row.file_id for row in rows], tx)
    return [
        ExportState(row, found[row.id], sizes.get(row.file_id, 0))
        for row in rows
        if row.id in found
    ]


def every(account_id: str, tx: Transaction) -> list[ExportState]:
    """Returns all exports of an account that have not expired."""
    rows = [ExportRow._make(row) for row in tx.all(_ALL, account_id=account_id)]
    present = [row for row in rows if row.expires_at > tx.now]
    return _with_operations(account_id, present, tx)


def put_progress(account_id: str, row: ExportRow, sha256: str, tx: Transaction) -> None:
    """Keeps an export and its file for longer, and stores the hash of a complete file."""
    expires_at = tx.now + RETENTION_MILLISECONDS
    _EXPORTS.update(account_id, row._replace(sha256=sha256, expires_at=expires_at), tx)
    files.set_expiry(account_id, row.file_id, expires_at, tx)


def cancel(account_id: str, export_id: str, tx: Transaction) -> ExportState:
    """Cancels an export unless it has ended, and deletes its file then."""
    before = find(account_id, export_id, tx)
    if not before.operation.is_running:
        return before
    operation = operations.end(account_id, before.operation, State.CANCELLED, tx)
    files.delete(account_id, before.row.file_id, tx)
    return before._replace(operation=operation, size=0)


def delete(account_id: str, export_id: str, tx: Transaction) -> None:
    """Deletes an export with its file, and cancels it if it is running."""
    row = cancel(account_id, export_id, tx).row
    files.delete(account_id, row.file_id, tx)
    _EXPORTS.delete(account_id, export_id, tx)


def delete_all(account_id: str, tx: Transaction) -> None:
    """Deletes all exports of an account. Running ones end as FAILED."""
    for row in map(ExportRow._make, tx.all(_ALL, account_id=account_id)):
        files.delete(account_id, row.file_id, tx)
        _EXPORTS.delete(account_id, row.id, tx)
    for operation in operations.running(account_id, tx):
        content = operation.content
        if isinstance(content, JobRequest) and content.type == Type.SUBSCRIBERS_EXPORT:
            operations.fail(account_id, operation, ExportNotFound.reason, _ERASED, tx)


def has_expired(account_id: str, tx: Transaction) -> bool:
    """Whether an account has exports that have expired."""
    return tx.one(_HAS_EXPIRED, account_id=account_id, now=tx.now) is not None


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes the exports that have expired, and returns their number. Files expire themselves."""
    return tx.run(_PURGE, account_id=account_id, now=tx.now)
