"""OperationService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict

from roster.v1 import operations_pb2 as pb
from roster.v1.operations_pb2_grpc import OperationServiceServicer

from ...rpc.caller import account_id, current
from ...rpc.errors import Detail, OperationNotFound, Unavailable, ValidationError, invalid
from ...rpc.messages import Context, check_page, struct_to_dict
from ...rpc.paging import page_of
from ...rpc.streams import accept
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.ids import checked_id
from ..custom_fields.rules import check_size, check_values
from ..custom_fields.store import types as custom_field_types
from ..subscribers.fields import Status
from ..subscribers.query.request import FilterExpressions
from ..subscribers.query.store_pages import count_matches
from ..subscribers.query.store_plan import plan_of
from . import store
from .rules import ActionKind, BatchRequest, State
from .store_filters import name_revision

# Seconds between the states of a watched operation.
WATCH_SECONDS = 0.5


class OperationService(OperationServiceServicer):
    """Manages the operations of the caller's account. `notify` starts those of accounts."""

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

    def serve(self, *, serving: bool) -> None:
        """Allows watching, or ends all streams so that the service can stop."""
        if serving:
            self._stopping.clear()
        else:
            self._stopping.set()

    async def BatchChangeSubscribers(
        self, request: pb.BatchChangeSubscribersRequest, _context: Context
    ) -> pb.BatchChangeSubscribersResponse:
        account = account_id()
        action, value = _action(request.action)
        given = [name for name in ("filter", "segment", "ids") if getattr(request, name)]
        if len(given) != 1:
            code = "INVALID_VALUE" if given else "REQUIRED"
            raise invalid("filter", code, "must be set, or segment, or ids, but only one of them")
        # Before the segment and the names are read.
        names = await self._database.read(partial(name_revision, account))
        texts, ids = await self._filters.texts(request.filter, request.segment), None
        if request.ids:
            ids = sorted(set(request.ids))
            total = len(ids)
        else:
            plan = plan_of(await self._filters.conditions(texts, request.segment))
            total = await self._database.read(partial(count_matches, account, plan))
        rest = pb.BatchChangeSubscribersRequest()
        rest.CopyFrom(request)
        for name in ("action", "ids"):
            rest.ClearField(name)
        message = {"action": {action.value: value}, **MessageToDict(rest)}
        batch = BatchRequest(message, texts, current().key_id, current().scope == "admin")

        def create(tx: Transaction) -> pb.BatchChangeSubscribersResponse:
            if action is ActionKind.SET_CUSTOM_FIELDS:
                _check_values(value, custom_field_types(account, tx))
            row = store.create(account, batch, ids, total, tx)
            if texts and not request.dry_run and name_revision(account, tx) != names:
                # The filter could match other subscribers than those that were counted.
                row = store.end(account, row, State.FAILED, tx)
            return pb.BatchChangeSubscribersResponse(operation=_operation(row))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def ListOperations(
        self, request: pb.ListOperationsRequest, _context: Context
    ) -> pb.ListOperationsResponse:
        account, page = account_id(), page_of(request)
        rows, total = await self._database.read(partial(store.page, account, page))
        operations = [_operation(row) for row in rows]
        reply = pb.ListOperationsResponse(
            operations=operations, total=total, page=page.number, limit=page.limit
        )
        check_page(reply)
        return reply

    async def GetOperation(
        self, request: pb.GetOperationRequest, _context: Context
    ) -> pb.GetOperationResponse:
        row = await self._find(request.id)
        return pb.GetOperationResponse(operation=_operation(row))

    async def CancelOperation(
        self, request: pb.CancelOperationRequest, _context: Context
    ) -> pb.CancelOperationResponse:
        account, operation_id = account_id(), checked_id(request.id, OperationNotFound)

        def cancel(tx: Transaction) -> pb.CancelOperationResponse:
            row = store.cancel(account, operation_id, tx)
            return pb.CancelOperationResponse(operation=_operation(row))

        return await self._database.write(cancel)

    async def WatchOperation(
        self, request: pb.WatchOperationRequest, context: Context
    ) -> AsyncIterator[pb.WatchOperationResponse]:
        row = await self._find(request.id)
        await accept(context)
        yield pb.WatchOperationResponse(operation=_operation(row))
        while row.state == State.RUNNING:
            await self._pause()
            before = row
            with suppress(Unavailable):
                row = await self._find(request.id)
            if row != before:
                yield pb.WatchOperationResponse(operation=_operation(row))

    async def _find(self, text: str) -> store.OperationRow:
        operation_id = checked_id(text, OperationNotFound)
        return await self._database.read(partial(store.find, account_id(), operation_id))

    async def _pause(self) -> None:
        """Waits. Raises Unavailable when the service stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(WATCH_SECONDS):
                await self._stopping.wait()
        if self._stopping.is_set():
            raise Unavailable


def _action(message: pb.BatchAction) -> tuple[ActionKind, Any]:
    """Returns the action and its value in JSON. Raises ValidationError."""
    set_fields = [field.name for field, _ in message.ListFields()]
    if len(set_fields) != 1:
        code = "INVALID_VALUE" if set_fields else "REQUIRED"
        raise invalid("action", code, "must have exactly one field")
    match set_fields[0]:
        case "add_tags":
            return ActionKind.ADD_TAGS, list(message.add_tags)
        case "remove_tags":
            return ActionKind.REMOVE_TAGS, list(message.remove_tags)
        case "set_custom_fields":
            return ActionKind.SET_CUSTOM_FIELDS, struct_to_dict(message.set_custom_fields)
        case "change_status":
            if not message.change_status:
                raise invalid("action.changeStatus", "REQUIRED", "is required")
            return ActionKind.CHANGE_STATUS, Status(message.change_status).name
    if not message.delete:
        raise invalid("action.delete", "INVALID_VALUE", "must be true")
    return ActionKind.DELETE, True


def _check_values(values: Any, types: Any) -> None:
    """Raises ValidationError for values that no custom field of the account accepts."""
    faults = [*check_values(values, types), *check_size(values)]
    if faults:
        raise ValidationError(
            [
                Detail(
                    fault.field.replace("customFields", "action.setCustomFields", 1),
                    fault.code,
                    fault.message,
                )
                for fault in faults
            ]
        )


def _operation(row: store.OperationRow) -> pb.Operation:
    # A later version can have stored another action.
    return ParseDict(row.as_json(), pb.Operation(), ignore_unknown_fields=True)
