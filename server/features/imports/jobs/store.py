"""Stores imports and their failed rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from peewee import SQL, fn

from ....rpc.errors import ImportLimitReached, ImportNotFound, ImportStateConflict
from ....storage.resource import Resource
from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ....values.reason_counts import ReasonCounts
from ...files import store as files
from ...operations import store as operations
from ...operations.rules import State as OperationState
from ...operations.store import OperationRow, error_text
from ..models import ImportFailure, ImportJob
from .rules import ACTIVE, MAX_OPEN, OPEN, RETENTION_MILLISECONDS, Progress, State

# Rows of the table of failures that one read returns. Each has those of one step.
_FAILURES_AT_ONCE = 5


class ImportRow(NamedTuple):
    """A stored import.

    `options`, `inspection`, `progress`, `error`, `erased` and `actor` are JSON: of ImportOptions,
    of the fields of ImportJob that describe the file, of `Progress`, of Error, a list of hashes of
    the addresses of erased persons, and of the actor. They are empty if there is none. `sha256` is
    that of the file, or empty. `file_id` is empty once the file is deleted. `operation_id` is the
    latest operation. Times are in milliseconds.
    """

    id: str
    state: int
    name: str
    size: int
    received: int
    sha256: str
    file_id: str
    options: str
    inspection: str
    progress: str
    error: str
    operation_id: str
    erased: str
    actor: str
    created_at: int
    started_at: int | None
    ended_at: int | None

    @property
    def run(self) -> Progress:
        return Progress(**orjson.loads(self.progress)) if self.progress else Progress()

    @property
    def content(self) -> dict[str, Any]:
        """What the inspection found."""
        return orjson.loads(self.inspection) if self.inspection else {}

    @property
    def erased_hashes(self) -> Collection[str]:
        return orjson.loads(self.erased) if self.erased else ()

    @property
    def expires_at(self) -> int:
        return self.created_at + RETENTION_MILLISECONDS


class FailedRow(NamedTuple):
    """A failed row with its original cells, or with the text of a JSON row as the only one."""

    line: int
    reason: str
    field: str
    cells: Sequence[str]


_IMPORTS = Resource(
    ImportRow,
    ImportJob.id,
    ImportNotFound,
    descending=True,
    changed=[getattr(ImportJob, name) for name in ImportRow._fields if name != "id"],
)
newest_id_of_any_account = _IMPORTS.newest_id_of_any_account
put = _IMPORTS.update

_IS_OPEN = ImportJob.state << [SQL(str(int(each))) for each in OPEN]
_COUNT_OPEN = Statement(
    lambda _: ImportJob.select(fn.COUNT(ImportJob.id)).where(_IMPORTS.in_account & _IS_OPEN)
)
_ALL = Statement(
    lambda _: ImportJob.select(*_IMPORTS.columns).where(_IMPORTS.in_account).order_by(ImportJob.id)
)
_ACTIVE_WITH_FILE = Statement(
    lambda _: ImportJob.select(*_IMPORTS.columns).where(
        _IMPORTS.in_account
        & (ImportJob.state << [SQL(str(int(each))) for each in ACTIVE])
        & (ImportJob.file_id != SQL("''"))
    )
)
_OLD = _IMPORTS.in_account & (ImportJob.created_at < param("before"))
_HAS_OLD = Statement(lambda _: ImportJob.select(ImportJob.id).where(_OLD).limit(SQL("1")))
_OF_IMPORT = (ImportFailure.account_id == param("account_id")) & (
    ImportFailure.import_id == param("import_id")
)
_ADD_FAILURES = Statement(
    lambda _: ImportFailure.insert(
        params(
            ImportFailure.account_id,
            ImportFailure.import_id,
            ImportFailure.line,
            ImportFailure.rows,
        )
    ),
    has_one_plan=True,
)
_FAILURES = Statement(
    lambda _: (
        ImportFailure.select(ImportFailure.line, ImportFailure.rows)
        .where(_OF_IMPORT & (ImportFailure.line > param("after")))
        .order_by(ImportFailure.account_id, ImportFailure.import_id, ImportFailure.line)
        .limit(SQL(str(_FAILURES_AT_ONCE)))
    )
)
_PUT_FAILURES = Statement(
    lambda _: ImportFailure.update(params(ImportFailure.rows)).where(
        _OF_IMPORT & (ImportFailure.line == param("line"))
    )
)
_DELETE_FAILURES = Statement(lambda _: ImportFailure.delete().where(_OF_IMPORT))


def insert(account_id: str, row: ImportRow, tx: Transaction) -> None:
    """Stores a new import. Raises ImportLimitReached."""
    is_full = tx.scalar(_COUNT_OPEN, account_id=account_id) >= MAX_OPEN
    # The operations of some can have ended without them.
    if is_full and sum(each.state in OPEN for each in every(account_id, tx)) >= MAX_OPEN:
        raise ImportLimitReached(MAX_OPEN)
    _IMPORTS.insert(account_id, row, tx)


def find(account_id: str, import_id: str, tx: Transaction) -> ImportRow:
    """Returns an import in its current state. Raises ImportNotFound."""
    return _current(account_id, _IMPORTS.find(account_id, import_id, tx), tx)


def find_or_none(account_id: str, import_id: str, tx: Transaction) -> ImportRow | None:
    """Returns an import as it is stored, or None."""
    return _IMPORTS.find_or_none(account_id, import_id, tx)


def page(account_id: str, page: Any, tx: Transaction) -> tuple[list[ImportRow], int, Any]:
    """Returns the imports of a page, as `Resource.page`."""
    rows, total, following = _IMPORTS.page(account_id, page, tx)
    return [_current(account_id, row, tx) for row in rows], total, following


def every(account_id: str, tx: Transaction) -> list[ImportRow]:
    """Returns all imports of an account."""
    rows = map(ImportRow._make, tx.all(_ALL, account_id=account_id))
    return [_current(account_id, row, tx) for row in rows]


def run_of(account_id: str, row: ImportRow, tx: Transaction) -> OperationRow | None:
    """Returns the last operation of an import that has ended."""
    if row.ended_at is None or not row.operation_id:
        return None
    return operations.find_or_none(account_id, row.operation_id, tx)


def runs_of(
    account_id: str, rows: Iterable[ImportRow], tx: Transaction
) -> Mapping[str, OperationRow]:
    """Returns the last operations of imports that have ended, by ID."""
    ids = [row.operation_id for row in rows if row.ended_at is not None and row.operation_id]
    return operations.find_each(account_id, ids, tx) if ids else {}


def _current(account_id: str, row: ImportRow, tx: Transaction) -> ImportRow:
    """Returns an import with the state of its operation, which can end without it."""
    if row.state not in ACTIVE:
        return row
    operation = operations.find_or_none(account_id, row.operation_id, tx)
    if operation is not None and operation.is_running:
        return row
    ended_at = operation.ended_at if operation is not None else row.created_at
    if operation is not None and operation.state == OperationState.CANCELLED:
        is_dry_run = row.state == State.RUNNING and row.run.dry_run
        if is_dry_run:
            return before_run(row)
        return row._replace(state=State.CANCELLED, ended_at=ended_at)
    error = row.error or (operation.error if operation is not None else None)
    if not error:
        # An earlier version ended the operation.
        failures = operation.failures if operation is not None else ReasonCounts()
        reasons = [each["reason"] for each in failures.as_json()]
        error = error_text(reasons[-1] if reasons else "INTERNAL", "The import ended early.")
    return row._replace(state=State.FAILED, ended_at=ended_at, error=error)


def before_run(row: ImportRow) -> ImportRow:
    """Returns an import as READY, without the results of a dry run that was canceled."""
    return row._replace(state=State.READY, progress="", started_at=None)


def check_state(row: ImportRow, *allowed: State) -> None:
    """Raises ImportStateConflict unless an import is in one of the states."""
    if row.state not in allowed:
        needed = " or ".join(state.name for state in allowed)
        raise ImportStateConflict(state=State(row.state).name, needed=needed)


def without_file(account_id: str, row: ImportRow, tx: Transaction) -> ImportRow:
    """Deletes the file of an import, and returns the import without it."""
    if row.file_id:
        files.delete(account_id, row.file_id, tx)
    return row._replace(file_id="")


def delete(account_id: str, row: ImportRow, tx: Transaction) -> None:
    """Deletes an import with its file and its failed rows."""
    without_file(account_id, row, tx)
    delete_failures(account_id, row.id, tx)
    _IMPORTS.delete(account_id, row.id, tx)


def add_failures(
    account_id: str, import_id: str, rows: Sequence[FailedRow], tx: Transaction
) -> None:
    if rows:
        text = orjson.dumps([*map(list, rows)]).decode()
        values = {"import_id": import_id, "line": rows[0].line, "rows": text}
        tx.run(_ADD_FAILURES, account_id=account_id, **values)


def failures(
    account_id: str, import_id: str, after: int, tx: Transaction
) -> tuple[list[FailedRow], int | None]:
    """Returns the next failed rows, and the position after them; None after the last ones."""
    found = tx.all(_FAILURES, account_id=account_id, import_id=import_id, after=after)
    rows = [FailedRow._make(each) for _, text in found for each in orjson.loads(text)]
    return rows, found[-1][0] if found else None


def delete_failures(account_id: str, import_id: str, tx: Transaction) -> None:
    tx.run(_DELETE_FAILURES, account_id=account_id, import_id=import_id)


def remove_from_failures(account_id: str, import_id: str, is_removed: Any, tx: Transaction) -> None:
    """Removes the failed rows of an import for which a function returns true."""
    after: int | None = 0
    while after is not None:
        values = {"account_id": account_id, "import_id": import_id}
        found = tx.all(_FAILURES, after=after, **values)
        after = found[-1][0] if found else None
        for line, text in found:
            rows = orjson.loads(text)
            kept = [each for each in rows if not is_removed(FailedRow._make(each))]
            if len(kept) < len(rows):
                tx.run(_PUT_FAILURES, line=line, rows=orjson.dumps(kept).decode(), **values)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether an account has imports or files of imports that are no longer retained."""
    return _first_old(account_id, tx) is not None or _first_ended(account_id, tx) is not None


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes one import that is no longer retained, or the file of one that has ended.

    Returns 1, or 0 if there is none.
    """
    import_id = _first_old(account_id, tx)
    if import_id is None:
        ended = _first_ended(account_id, tx)
        if ended is None:
            return 0
        put(account_id, without_file(account_id, ended, tx), tx)
        return 1
    row = find(account_id, import_id, tx)
    if row.state in ACTIVE:
        operations.cancel(account_id, row.operation_id, tx)
    delete(account_id, row, tx)
    return 1


def _first_old(account_id: str, tx: Transaction) -> str | None:
    before = tx.now - RETENTION_MILLISECONDS
    found = tx.one(_HAS_OLD, account_id=account_id, before=before)
    return None if found is None else str(found[0])


def _first_ended(account_id: str, tx: Transaction) -> ImportRow | None:
    """Returns an import that has a file although its operation failed or was canceled.

    Such an import cannot be continued.
    """
    rows = map(ImportRow._make, tx.all(_ACTIVE_WITH_FILE, account_id=account_id))
    current = (_current(account_id, row, tx) for row in rows)
    return next((row for row in current if row.state not in OPEN), None)


def as_json(value: Iterable[Any] | Mapping[str, Any]) -> str:
    return orjson.dumps(value).decode()
