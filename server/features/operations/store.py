"""Stores operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from peewee import SQL, fn

from ...rpc.errors import (
    Detail,
    OperationLimitReached,
    OperationNotFound,
    SelectionChanged,
)
from ...storage.resource import Resource
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.reason_counts import ReasonCounts
from ..events.rules import EventType, created
from ..events.store import record
from ..subscribers.store_reading import greatest_id
from ..subscribers.store_revisions import last_revision
from .models import Operation
from .rules import (
    MAX_RUNNING,
    UNDO_MILLISECONDS,
    BatchRequest,
    JobRequest,
    ReplayRequest,
    Request,
    State,
    UndoRequest,
    as_stored,
    stored_request,
    type_name,
)

RETENTION_MILLISECONDS = 30 * 24 * 3600 * 1000


class OperationRow(NamedTuple):
    """A stored operation.

    `request`, `failed` and `error` are JSON: a `Request`, the subscribers that could not be
    changed, by reason with the IDs of the first ones, and Operation.Failure. `changed` subscribers
    were changed, or would be without the dry run, and `unchanged` ones already were as the action
    leaves them; None if an earlier version started the operation. Of the undo of an import,
    `deleted` of the changed ones were deleted. Subscribers up to the ID `after_id` are processed.
    Of a replay, `changed` is the number of deliveries, and `after_id` the last event that was
    processed, as `event_key`. `runner` is the process that runs it. Timestamps are in milliseconds.

    An operation runs until `ended_at` is set. The `state` of a running job is CANCELLED, because
    programs of the previous release run what is RUNNING, and cannot run jobs.
    """

    id: str
    state: int
    request: str
    total: int
    processed: int
    failed: str
    after_id: str
    runner: str
    created_at: int
    updated_at: int
    ended_at: int | None
    changed: int | None
    unchanged: int | None
    undone_by: str | None = None
    deleted: int | None = None
    error: str | None = None

    @property
    def is_running(self) -> bool:
        return self.ended_at is None

    @property
    def content(self) -> Request:
        """The request."""
        return stored_request(orjson.loads(self.request))

    @property
    def batch(self) -> BatchRequest:
        """The request of a change of subscribers."""
        content = self.content
        assert isinstance(content, BatchRequest)
        return content

    @property
    def filtered(self) -> BatchRequest | JobRequest:
        """The request of a change of subscribers or a job, which can have filters."""
        content = self.content
        assert isinstance(content, BatchRequest | JobRequest)
        return content

    @property
    def failures(self) -> ReasonCounts:
        """The subscribers that could not be changed, by reason."""
        return ReasonCounts(orjson.loads(self.failed))

    @property
    def rate(self) -> int:
        """Subscribers processed per second."""
        return self.processed * 1000 // max(self.updated_at - self.created_at, 1)

    @property
    def undo_expires_at(self) -> int | None:
        """The time from which the operation cannot be undone, or None if it never can be."""
        content = self.content
        if self.ended_at is None or not isinstance(content, BatchRequest | JobRequest):
            return None
        return self.ended_at + UNDO_MILLISECONDS if content.can_be_undone else None

    def as_json(self) -> dict[str, Any]:
        """Returns the operation as the API returns it."""
        content = self.content
        operation: dict[str, Any] = {
            "id": self.id,
            **self._request_as_json(content),
            "dryRun": content.dry_run,
            "state": (State.RUNNING if self.is_running else State(self.state)).name,
            "done": not self.is_running,
            "total": self.total,
            "processed": self.processed,
            "failed": self.failures.as_json(),
            "rate": self.rate,
            "createdAt": iso8601(self.created_at),
        }
        if self.ended_at is not None:
            operation["endedAt"] = iso8601(self.ended_at)
        if self.undone_by is not None:
            operation["undoneBy"] = self.undone_by
        elif self.undo_expires_at is not None:
            operation["undoExpiresAt"] = iso8601(self.undo_expires_at)
        if self.changed is not None and not isinstance(content, ReplayRequest):
            operation["wouldChange" if content.dry_run else "changed"] = self.changed
            operation["unchanged"] = self.unchanged
        if self.deleted is not None:
            operation["deleted"] = self.deleted
        if self.error is not None:
            operation["error"] = orjson.loads(self.error)
        if content.actor is not None:
            operation["actor"] = content.actor.as_json()
        return operation

    def _request_as_json(self, content: Request) -> dict[str, Any]:
        about: dict[str, Any] = {"type": type_name(content), "filter": "", "segmentId": "", "q": ""}
        if isinstance(content, ReplayRequest):
            return {**about, "replay": {**content.replay, "deliveries": self.changed}}
        if isinstance(content, UndoRequest):
            return {**about, "undoOf": content.undo_of}
        if isinstance(content, JobRequest):
            return {
                **about,
                **content.members,
                "filter": content.filter,
                "segmentId": content.segment_id,
                "q": content.q,
            }
        consent = {"consentSource": content.consent_source} if content.consent_source else {}
        return {
            "type": type_name(content),
            "action": {**content.message["action"], **consent},
            "filter": content.filter,
            "segmentId": content.segment_id,
            "q": content.q,
            "excluded": content.excluded,
        }


_OPERATIONS = Resource(
    OperationRow,
    Operation.id,
    OperationNotFound,
    descending=True,
    hidden=(Operation.ids,),
    changed=(
        Operation.state,
        Operation.total,
        Operation.processed,
        Operation.failed,
        Operation.changed,
        Operation.unchanged,
        Operation.deleted,
        Operation.error,
        Operation.after_id,
        Operation.runner,
        Operation.updated_at,
        Operation.ended_at,
    ),
)
IN_ACCOUNT, ONE = _OPERATIONS.in_account, _OPERATIONS.one
find, put = _OPERATIONS.find, _OPERATIONS.update
find_or_none = _OPERATIONS.find_or_none
newest_id_of_any_account = _OPERATIONS.newest_id_of_any_account

_RUNNING = Operation.ended_at.is_null()

_PUT_UNDONE_BY = Statement(
    lambda _: Operation.update({Operation.undone_by: param("undone_by")}).where(ONE),
    has_one_plan=True,
)
_IDS = Statement(lambda _: Operation.select(Operation.ids).where(ONE), has_one_plan=True)
_COUNT_RUNNING = Statement(
    lambda _: Operation.select(fn.COUNT(Operation.id)).where(IN_ACCOUNT & _RUNNING)
)
_ALL_RUNNING = Statement(
    lambda _: (
        Operation.select(*_OPERATIONS.columns)
        .where(IN_ACCOUNT & _RUNNING)
        .order_by(Operation.account_id, Operation.id)
    )
)
_OLD = IN_ACCOUNT & (Operation.ended_at < param("before"))
_EACH = Statement(
    lambda dialect: Operation.select(*_OPERATIONS.columns).where(
        IN_ACCOUNT & dialect.any_of(Operation.id, "ids")
    ),
    has_one_plan=True,
)
_HAS_OLD = Statement(lambda _: Operation.select(Operation.id).where(_OLD).limit(SQL("1")))
_PURGE = Statement(lambda _: Operation.delete().where(_OLD))
# The only search across accounts. It reads the operations that have not ended.
_WITH_RUNNING = Statement(
    lambda _: (
        Operation.select(Operation.account_id)
        .where(_RUNNING & (Operation.account_id > param("after")))
        .distinct()
        .order_by(Operation.account_id)
        .limit(param("limit"))
    )
)


def create(
    account_id: str,
    request: BatchRequest,
    ids: Sequence[str] | None,
    total: int,
    tx: Transaction,
) -> OperationRow:
    """Stores a new change of subscribers.

    Adds the revision and the actor to the request. Raises OperationLimitReached if
    too many operations of the account have not ended.
    """
    request = request._replace(
        revision=last_revision(account_id, tx), end_id=_end_id(account_id, tx), is_in_history=True
    )
    return _insert(account_id, request, total, tx, ids=ids)


def create_undo(account_id: str, request: UndoRequest, total: int, tx: Transaction) -> OperationRow:
    """Stores a new undo of an operation that changed `total` subscribers.

    Adds the actor to the request. Raises OperationLimitReached.
    """
    request = request._replace(end_id=_end_id(account_id, tx))
    row = _insert(account_id, request, total, tx)
    if not request.dry_run:
        _put_undone_by(account_id, request.undo_of, row.id, tx)
    return row


def _end_id(account_id: str, tx: Transaction) -> str:
    # No ID is between an ID and this text.
    return f"{greatest_id(account_id, tx)}0"


def _put_undone_by(
    account_id: str, operation_id: str, undone_by: str | None, tx: Transaction
) -> None:
    tx.run(_PUT_UNDONE_BY, account_id=account_id, id=operation_id, undone_by=undone_by)


def create_replay(
    account_id: str, request: ReplayRequest, after: int, tx: Transaction
) -> OperationRow:
    """Stores a new replay of the events after a sequence number.

    Adds the actor to the request. Raises OperationLimitReached.
    """
    total = max(request.until_sequence - after, 0)
    return _insert(account_id, request, total, tx, after_id=event_key(after))


def create_job(account_id: str, request: JobRequest, total: int, tx: Transaction) -> OperationRow:
    """Stores a new job.

    Adds the revision and the actor to the request, as `create`. Raises OperationLimitReached.
    """
    request = request._replace(
        revision=last_revision(account_id, tx), end_id=_end_id(account_id, tx), is_in_history=True
    )
    return _insert(account_id, request, total, tx)


def event_key(sequence: int) -> str:
    """Returns the sequence number of an event as a text in the same order, for `after_id`."""
    return f"{sequence:016}"


def _insert(
    account_id: str,
    request: Request,
    total: int,
    tx: Transaction,
    *,
    ids: Sequence[str] | None = None,
    after_id: str = "",
) -> OperationRow:
    if tx.scalar(_COUNT_RUNNING, account_id=account_id) >= MAX_RUNNING:
        raise OperationLimitReached(MAX_RUNNING)
    if tx.actor is not None:
        id_, name = tx.actor.id, tx.actor.name
        request = request._replace(key_id=id_, key_name=name, actor_type=tx.actor.type)
    row = OperationRow(
        id=tx.new_id(),
        state=State.CANCELLED if isinstance(request, JobRequest) else State.RUNNING,
        request=as_text(request),
        total=total,
        processed=0,
        failed="[]",
        after_id=after_id,
        runner="",
        created_at=tx.now,
        updated_at=tx.now,
        ended_at=None,
        changed=0,
        unchanged=0,
    )
    stored_ids = None if ids is None else orjson.dumps(ids).decode()
    _OPERATIONS.insert(account_id, row, tx, ids=stored_ids)
    return row


def as_text(request: Request) -> str:
    """Returns a request as it is stored."""
    return orjson.dumps(as_stored(request)).decode()


def selected_ids(account_id: str, operation_id: str, tx: Transaction) -> list[str] | None:
    """Returns the IDs that an operation selects, in order, or None if a filter selects them."""
    text = tx.scalar(_IDS, account_id=account_id, id=operation_id)
    return None if text is None else orjson.loads(text)


def find_each(account_id: str, ids: Sequence[str], tx: Transaction) -> dict[str, OperationRow]:
    """Returns operations by their IDs."""
    rows = tx.all(_EACH, account_id=account_id, ids=list(ids))
    return {row.id: row for row in map(OperationRow._make, rows)}


def running(account_id: str, tx: Transaction) -> list[OperationRow]:
    """Returns the operations of an account that have not ended, in the order in which they run."""
    return [OperationRow._make(row) for row in tx.all(_ALL_RUNNING, account_id=account_id)]


def running_filtered(account_id: str, tx: Transaction) -> list[OperationRow]:
    """Returns the operations of an account that have not ended and can have filters."""
    rows = running(account_id, tx)
    return [row for row in rows if isinstance(row.content, BatchRequest | JobRequest)]


def end(account_id: str, row: OperationRow, state: State, tx: Transaction) -> OperationRow:
    """Ends a running operation and returns it. Records its event, unless it is a dry run."""
    row = row._replace(state=state, ended_at=tx.now, updated_at=tx.now)
    put(account_id, row, tx)
    content = row.content
    if isinstance(content, UndoRequest) and not content.dry_run and state is not State.SUCCEEDED:
        # It can be undone again, which leaves what was undone as it is.
        _put_undone_by(account_id, content.undo_of, None, tx)
    if not content.dry_run:
        record(account_id, [created(EventType.OPERATION_COMPLETED, row)], tx)
    return row


def fail(
    account_id: str,
    row: OperationRow,
    reason: str,
    message: str,
    tx: Transaction,
    *details: Detail,
) -> OperationRow:
    """Ends a running operation as FAILED, stores why, and returns it."""
    row = row._replace(error=error_text(reason, message, details))
    return end(account_id, row, State.FAILED, tx)


def fail_changed(account_id: str, row: OperationRow, tx: Transaction) -> OperationRow:
    """Ends an operation whose filter could match others than those that were counted."""
    message = (
        "A tag, custom field or segment was renamed, changed or deleted while the operation was"
        " created. Start it again."
    )
    return fail(account_id, row, SelectionChanged.reason, message, tx)


def error_text(reason: str, message: str, details: Sequence[Detail] = ()) -> str:
    """Returns the JSON of Operation.Failure, which is also that of ImportJob.Failure."""
    return orjson.dumps({"reason": reason, "message": message, "details": list(details)}).decode()


def cancel(account_id: str, operation_id: str, tx: Transaction) -> OperationRow:
    """Cancels an operation unless it has ended, and returns it. Raises OperationNotFound."""
    row = find(account_id, operation_id, tx)
    return end(account_id, row, State.CANCELLED, tx) if row.is_running else row


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether an account has operations that are no longer retained."""
    return (
        tx.one(_HAS_OLD, account_id=account_id, before=tx.now - RETENTION_MILLISECONDS) is not None
    )


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes the operations that are no longer retained, and returns their number."""
    return tx.run(_PURGE, account_id=account_id, before=tx.now - RETENTION_MILLISECONDS)


def ids_of_any_account_with_running(after: str, limit: int, tx: Transaction) -> list[str]:
    """Returns the first accounts after an ID with operations that have not ended, in order."""
    # On a node of a cluster, each shard returns as many.
    return sorted(row_id for (row_id,) in tx.all(_WITH_RUNNING, after=after, limit=limit))[:limit]
