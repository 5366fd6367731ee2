"""AuditService."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

from roster.v1 import audit_pb2 as pb
from roster.v1.audit_pb2_grpc import AuditServiceServicer

from ...rpc.caller import account_id, current
from ...rpc.messages import Context, check_page, created_range, split_message
from ...rpc.paging import page_in
from ...rpc.streams import accept
from ...storage.database import Database
from ...storage.transaction import Transaction
from . import store
from .audited_database import record_call
from .messages import entry_message

# The maximum number of entries in one read of an export.
EXPORT_BATCH = 500


class AuditService(AuditServiceServicer):
    """Returns the audit log of the caller's account.

    `check_credential(account_id, id, tx)` raises Unauthorized unless a key or session still works.
    """

    def __init__(
        self, database: Database, check_credential: Callable[[str, str, Transaction], None]
    ) -> None:
        self._database = database
        self._check_credential = check_credential

    async def ListAuditEntries(
        self, request: pb.ListAuditEntriesRequest, _context: Context
    ) -> pb.ListAuditEntriesResponse:
        account, filters = account_id(), _filter(request)
        page = page_in(f"audit entries {filters!r}", request)
        rows, total, following = await self._database.read(
            partial(store.page, account, filters, page)
        )
        response = pb.ListAuditEntriesResponse(
            entries=map(entry_message, rows), **page.fields(total, following)
        )
        check_page(response)
        return response

    async def ExportAuditEntries(
        self, request: pb.ExportAuditEntriesRequest, context: Context
    ) -> AsyncIterator[pb.ExportAuditEntriesResponse]:
        caller, filters = current(), _filter(request)

        def next_rows(tx: Transaction) -> list[store.AuditEntryRow]:
            self._check_credential(caller.account_id, caller.actor.id, tx)
            return store.rows(caller.account_id, filters, EXPORT_BATCH, tx)

        await record_call(self._database)
        await accept(context)
        while rows := await self._database.read(next_rows):
            filters = filters._replace(end_id=rows[-1].id)
            response = pb.ExportAuditEntriesResponse(entries=map(entry_message, rows))
            for piece in split_message(response):
                yield piece


def _filter(request: pb.ListAuditEntriesRequest | pb.ExportAuditEntriesRequest) -> store.Filter:
    first_id, end_id = created_range(request)
    return store.filter_of(
        action=request.action,
        actor=request.actor,
        resource_type=request.resource_type,
        resource_id=request.resource_id,
        first_id=first_id,
        end_id=end_id,
    )
