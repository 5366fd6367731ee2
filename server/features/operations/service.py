"""OperationService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from functools import partial
from typing import Any

from google.protobuf.json_format import MessageToDict

from roster.v1 import operations_pb2 as pb
from roster.v1.operations_pb2_grpc import OperationServiceServicer

from ...rpc.caller import Caller, account_id, current
from ...rpc.errors import OperationNotFound, SelectionChanged, invalid
from ...rpc.etags import check_change, with_etag
from ...rpc.messages import Context, check_page
from ...rpc.paging import page_in
from ...rpc.streams import WatchMethods
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from ..sessions.store import check_credential
from ..subscribers.query.normal_form import normal_form
from ..subscribers.query.request import FilterExpressions
from ..subscribers.query.syntax import parse
from . import store, store_lists
from .messages import check_excluded, operation
from .rules import BatchRequest, selection_differs
from .store_actions import ACTIONS
from .store_filters import name_revision
from .store_steps import count_selected
from .store_undo import start_undo


class OperationService(WatchMethods, OperationServiceServicer):
    """Manages the operations of the caller's account. `notify` starts operations of accounts."""

    def __init__(
        self,
        database: Database,
        filters: FilterExpressions,
        notify: Callable[[Collection[str]], None],
    ) -> None:
        self._database = database
        self._filters = filters
        self._notify = notify
        self._stopping = asyncio.Event()

    async def BatchChangeSubscribers(
        self, request: pb.BatchChangeSubscribersRequest, _context: Context
    ) -> pb.BatchChangeSubscribersResponse:
        caller = current()
        account = caller.account_id
        action, value = _action(request.action)
        check = ACTIONS[action].check
        has_conditions = bool(request.filter or request.segment_id or request.q)
        if has_conditions == bool(request.ids):
            if has_conditions:
                raise invalid("ids", "INVALID_VALUE", "excludes filter, segmentId and q")
            raise invalid("filter", "REQUIRED", "must be set, or segmentId, q or ids")
        check_excluded(request.ids, request.exclude_ids)
        # Read first, to detect a change of the segment or of names after they are read.
        names_before = await self._database.read(partial(name_revision, account))
        texts, ids = await self._filters.texts(request.filter, request.segment_id), None
        excluded = 0
        if request.ids:
            ids = sorted(set(request.ids))
            total = len(ids)
        else:
            tree = await self._filters.conditions(texts, request.segment_id, request.q)
            count = partial(count_selected, account, tree, set(request.exclude_ids))
            total, excluded = await self._database.read(count)
        if request.HasField("expected_total") and selection_differs(total, request.expected_total):
            raise SelectionChanged(request.expected_total, total)
        rest = pb.BatchChangeSubscribersRequest()
        rest.CopyFrom(request)
        for field in ("action", "ids", "expected_total"):
            rest.ClearField(field)
        if request.filter:
            rest.filter = texts[0] = normal_form(parse(request.filter))
        message = {"action": {action: value}, **MessageToDict(rest)}
        batch = BatchRequest(
            message,
            texts,
            by_admin=caller.scope == "admin",
            consent_source=request.action.consent_source,
            excluded=excluded,
        )

        def create(tx: Transaction) -> pb.BatchChangeSubscribersResponse:
            # Counting can take longer than the deletion of an account waits for its calls.
            check_credential(account, caller.actor.id, tx)
            if check is not None:
                check(account, value, tx)
            row = store.create(account, batch, ids, total, tx)
            if texts and name_revision(account, tx) != names_before:
                row = store.fail_changed(account, row, tx)
            return with_etag(pb.BatchChangeSubscribersResponse(operation=operation(row)))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def ListOperations(
        self, request: pb.ListOperationsRequest, _context: Context
    ) -> pb.ListOperationsResponse:
        account, among = account_id(), (int(request.state), int(request.type))
        page = page_in(f"operations{among if any(among) else ''}", request)
        rows, total, following = await self._database.read(
            partial(store_lists.page, account, page, among=among)
        )
        reply = pb.ListOperationsResponse(
            operations=map(operation, rows), **page.fields(total, following)
        )
        check_page(reply)
        return reply

    async def GetOperation(
        self, request: pb.GetOperationRequest, _context: Context
    ) -> pb.GetOperationResponse:
        row = await self._find(request.id)
        return with_etag(pb.GetOperationResponse(operation=operation(row)))

    async def CancelOperation(
        self, request: pb.CancelOperationRequest, _context: Context
    ) -> pb.CancelOperationResponse:
        account, operation_id = account_id(), checked_id(request.id, OperationNotFound)

        def cancel(tx: Transaction) -> pb.CancelOperationResponse:
            check_change(request, operation(store.find(account, operation_id, tx)), tx)
            row = store.cancel(account, operation_id, tx)
            return with_etag(pb.CancelOperationResponse(operation=operation(row)))

        return await self._database.write(cancel)

    async def UndoOperation(
        self, request: pb.UndoOperationRequest, _context: Context
    ) -> pb.UndoOperationResponse:
        caller, operation_id = current(), checked_id(request.id, OperationNotFound)
        account = caller.account_id

        def create(tx: Transaction) -> pb.UndoOperationResponse:
            undone = store.find(account, operation_id, tx)
            row = start_undo(account, undone, caller, tx, dry_run=request.dry_run)
            tx.record_change(operation_id)
            return with_etag(pb.UndoOperationResponse(operation=operation(row)))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def WatchOperation(
        self, request: pb.WatchOperationRequest, context: Context
    ) -> AsyncIterator[pb.WatchOperationResponse]:
        row = await self._find(request.id)
        read = partial(self._database.read, partial(_find_for, current(), row.id))
        async for each in self._watch(context, row, read, lambda row: row.is_running):
            yield pb.WatchOperationResponse(operation=operation(each))

    async def _find(self, text: str) -> store.OperationRow:
        operation_id = checked_id(text, OperationNotFound)
        return await self._database.read(partial(store.find, account_id(), operation_id))


def _find_for(caller: Caller, operation_id: str, tx: Transaction) -> store.OperationRow:
    """Returns an operation. Raises Unauthorized if the key is no longer valid."""
    check_credential(caller.account_id, caller.actor.id, tx)
    return store.find(caller.account_id, operation_id, tx)


def _action(message: pb.BatchAction) -> tuple[str, Any]:
    """Returns the name of the action and its value in JSON. Raises ValidationError."""
    fields = {field.json_name: value for field, value in message.ListFields()}
    consent_source = fields.pop("consentSource", "")
    if len(fields) != 1:
        code = "INVALID_VALUE" if fields else "REQUIRED"
        raise invalid("action", code, f"must have exactly one of {', '.join(ACTIONS)}")
    ((name, value),) = fields.items()
    if consent_source and name != "changeStatus":
        raise invalid("action.consentSource", "INVALID_VALUE", "is accepted with changeStatus only")
    return name, ACTIONS[name].value_of(value)
