"""SuppressionService."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial

from roster.v1 import http_pb2
from roster.v1 import suppressions_pb2 as pb
from roster.v1.rows_pb2 import BulkFailure, Export
from roster.v1.suppressions_pb2_grpc import SuppressionServiceServicer

from ...rpc.caller import Caller, account_id, current
from ...rpc.errors import SuppressionNotFound
from ...rpc.etags import check_etag, etag_of, with_etag
from ...rpc.messages import Context, check_bom, csv_header, timestamp
from ...rpc.paging import Page, is_text, page_in
from ...rpc.streams import accept, accept_with_first, prefetch
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.emails import parse_email
from ...values.texts import LOST
from ..audit.audited_database import record_call
from ..sessions.store import check_credential
from .columns import HEADER
from .imports import MAX_REPEATED, SuppressionImport, SuppressionWriter, reason_of
from .rules import NewSuppression, Reason
from .store import SuppressionRow, Suppressions, is_hash
from .subscribers import SuppressedSubscribers

# The maximum number of suppressions in one read of an export.
EXPORT_BATCH = 500


class SuppressionService(SuppressionServiceServicer):
    """Manages the suppressions of the caller's account."""

    def __init__(
        self, database: Database, suppressions: Suppressions, subscribers: SuppressedSubscribers
    ) -> None:
        self._database = database
        self._suppressions = suppressions
        self._subscribers = subscribers

    async def GetSuppression(
        self, request: pb.GetSuppressionRequest, _context: Context
    ) -> pb.GetSuppressionResponse:
        account, reference = account_id(), _reference(request.id)
        row = await self._database.read(lambda tx: self._suppressions.find(account, reference, tx))
        return with_etag(pb.GetSuppressionResponse(suppression=_suppression(row)))

    async def ListSuppressions(
        self, request: pb.ListSuppressionsRequest, _context: Context
    ) -> pb.ListSuppressionsResponse:
        account, reason = account_id(), int(request.reason)
        is_descending = request.order == "desc"
        is_default = not (reason or is_descending)
        list_key = f"suppressions{'' if is_default else (reason, is_descending)}"
        page = page_in(list_key, request, is_key=is_text)
        list_page = partial(self._suppressions.page, reason=reason, is_descending=is_descending)
        rows, total, following = await self._database.read(partial(list_page, account, page))
        return pb.ListSuppressionsResponse(
            suppressions=map(_suppression, rows), **page.fields(total, following)
        )

    async def DeleteSuppression(
        self, request: pb.DeleteSuppressionRequest, _context: Context
    ) -> pb.DeleteSuppressionResponse:
        account, reference = account_id(), _reference(request.id)

        def lift(tx: Transaction) -> None:
            suppression = _suppression(self._suppressions.find(account, reference, tx))
            check_etag(request, lambda: etag_of(suppression))
            after = {"liftedBecause": request.reason} if request.reason else None
            tx.record_change(before=suppression, after=after)
            self._suppressions.delete(account, reference, tx)
            self._subscribers.record_lifted(account, reference, request.reason, tx)

        await self._database.write(lift)
        return pb.DeleteSuppressionResponse()

    async def AddSuppressions(
        self, request: pb.AddSuppressionsRequest, _context: Context
    ) -> pb.AddSuppressionsResponse:
        account, reason = account_id(), Reason(request.reason or Reason.MANUAL)
        # The gateway replaces what is no character, so that the address would be another one.
        emails = [None if LOST in text else parse_email(text) for text in request.emails]
        keys = dict.fromkeys(email.key for email in emails if email is not None)
        suppressions = [NewSuppression(key, reason) for key in keys]
        failed = [
            BulkFailure(index=index, email=text[:MAX_REPEATED], reason=reason_of(text))
            for index, (text, email) in enumerate(zip(request.emails, emails, strict=True))
            if email is None
        ]
        writer = self._writer(is_import=False)

        def add(tx: Transaction) -> pb.AddSuppressionsResponse:
            for key in keys:
                email_hash = self._suppressions.hash_of(account, key)
                tx.record_change(email_hash, after={"reason": reason.name})
            added, opted_out = writer.add(suppressions, tx) if suppressions else ((), 0)
            return pb.AddSuppressionsResponse(
                added=len(added),
                existing=len(suppressions) - len(added),
                opted_out=opted_out,
                failed=failed,
            )

        return await self._database.write(add)

    async def ImportSuppressions(
        self, requests: AsyncIterator[pb.ImportSuppressionsRequest], context: Context
    ) -> AsyncIterator[pb.ImportSuppressionsResponse]:
        import_ = SuppressionImport(self._database, self._writer(is_import=True))
        async with (
            aclosing(prefetch(requests)) as messages,
            aclosing(import_.responses(messages)) as responses,
            # An invalid first message fails the whole call.
            aclosing(accept_with_first(context, responses)) as accepted,
        ):
            async for response in accepted:
                yield response

    async def ExportSuppressions(
        self, request: pb.ExportSuppressionsRequest, context: Context
    ) -> AsyncIterator[pb.ExportSuppressionsResponse]:
        caller = current()
        is_csv = request.format == Export.CSV
        check_bom(has_bom=request.bom, is_csv=is_csv)
        await record_call(self._database)
        await accept(context)
        if is_csv:
            yield pb.ExportSuppressionsResponse(lines=[csv_header(HEADER, has_bom=request.bom)])
        page: Page | None = Page(1, EXPORT_BATCH)
        while page:
            rows, page = await self._database.read(partial(self._next_rows, caller, page))
            if is_csv and rows:
                lines = [http_pb2.CsvLine(cells=_cells(row)) for row in rows]
                yield pb.ExportSuppressionsResponse(lines=lines)
            elif rows:
                yield pb.ExportSuppressionsResponse(suppressions=map(_suppression, rows))

    def _next_rows(
        self, caller: Caller, page: Page, tx: Transaction
    ) -> tuple[list[SuppressionRow], Page | None]:
        """Returns the next suppressions. Raises Unauthorized if the key is no longer valid."""
        check_credential(caller.account_id, caller.actor.id, tx)
        return self._suppressions.rows(caller.account_id, page, tx)

    def _writer(self, *, is_import: bool) -> SuppressionWriter:
        return SuppressionWriter(
            account_id(),
            current().actor.id,
            self._suppressions,
            self._subscribers,
            is_import=is_import,
        )


def _reference(text: str) -> str:
    """Returns a hash, or the email key of an address. Raises SuppressionNotFound for other text."""
    if is_hash(text):
        return text
    email = parse_email(text)
    if email is None:
        raise SuppressionNotFound
    return email.key


def _cells(row: SuppressionRow) -> list[str]:
    return [row.email_hash, Reason(row.reason).name, iso8601(row.created_at)]


def _suppression(row: SuppressionRow) -> pb.Suppression:
    return pb.Suppression(
        email_hash=row.email_hash,
        reason=pb.Suppression.Reason.ValueType(row.reason),
        created_at=timestamp(row.created_at),
    )
