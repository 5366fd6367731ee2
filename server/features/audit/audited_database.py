"""Records calls in the audit log, in the transactions of their writes.

An rpc with the option `audit` is recorded by its first write: the entry and the change are
committed together, or neither is. A call that only reads, such as an export, writes its entry
before it starts. A repeated request with an idempotency key, and a rejected one, write none.

An import can have two writes in progress. Each inserts the entry, with one ID, until one of them is
committed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.message import Message

from ...rpc.idempotency.idempotent_database import IdempotentDatabase
from ...storage.database import Database, Result, Work
from ...storage.transaction import Change, Transaction
from ...values.actors import Actor
from . import store
from .messages import fields_of, id_of
from .rules import has_effect, resource_type
from .store import AuditEntryRow


@dataclass(slots=True)
class AuditedCall:
    """A call to record. `resource_id` is the ID in its request, or empty.

    It is not `pending` once the entry is committed, and after the call.
    """

    account_id: str
    action: str
    actor: Actor
    ip: str
    resource_id: str
    entry_id: str = ""
    pending: bool = True


_current: ContextVar[AuditedCall | None] = ContextVar("audited_call", default=None)


class AuditedDatabase(IdempotentDatabase):
    """A database that records the calls of rpcs with the option `audit`."""

    def audit(self, call: AuditedCall) -> None:
        """Lets the first write of the current call record it."""
        _current.set(call)

    def end_audit(self, call: AuditedCall) -> None:
        """Ends a call."""
        call.pending = False
        _current.set(None)

    def write(self, work: Work[Result]) -> Coroutine[Any, Any, Result]:
        return _recorded(super().write, work)

    def begin(self, work: Work[Result]) -> Coroutine[Any, Any, Result | Any]:
        return _recorded(super().begin, work)


def _recorded(
    write: Callable[[Work[Any]], Coroutine[Any, Any, Any]], work: Work[Any]
) -> Coroutine[Any, Any, Any]:
    call = _current.get()
    if call is None or not call.pending:
        return write(work)
    return _committed(call, write(partial(_recording, call, work)))


async def record_call(database: Database) -> None:
    """Records the current call, which changes nothing, with a write of its own."""
    await database.write(lambda _: None)


async def _committed(call: AuditedCall, write: Awaitable[Result]) -> Result:
    result = await write
    call.pending = False
    return result


def _recording(call: AuditedCall, work: Work[Result], tx: Transaction) -> Result:
    """Runs the work and stores the entries of the call. Returns the result of the work."""
    result = work(tx)
    if entries := list(_entries(call, result, tx)):
        store.add(call.account_id, entries, tx)
    return result


def _entries(call: AuditedCall, result: Any, tx: Transaction) -> Iterator[AuditEntryRow]:
    """Yields an entry for each change that the work has stated, or one if it states none.

    The result is the response, whose field with the name of the resource type is the resource after
    the change.
    """
    call.entry_id = call.entry_id or tx.new_id()
    entry_id = call.entry_id
    is_response = isinstance(result, Message)
    resource = getattr(result, resource_type(call.action), None) if is_response else None
    for change in tx.changes or [Change()]:
        before, after = change.before, change.after or resource
        if not has_effect(call.action, before, after):
            continue
        resource_id = change.resource_id or _id(before) or _id(after) or call.resource_id
        yield store.entry(
            entry_id,
            call.action,
            call.actor,
            resource_id,
            before=_fields(before),
            after=_fields(after),
            ip=call.ip,
        )
        entry_id = tx.new_id()


def _fields(resource: Any) -> Any:
    return fields_of(resource) if isinstance(resource, Message) else resource


def _id(resource: Any) -> str:
    return id_of(resource) if isinstance(resource, Message) else ""
