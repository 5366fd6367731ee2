"""SuppressionService."""

from __future__ import annotations

from collections.abc import Callable

from roster.v1 import subscribers_pb2
from roster.v1 import suppressions_pb2 as pb
from roster.v1.suppressions_pb2_grpc import SuppressionServiceServicer

from ..caller import account_id, current
from ..emails import parse_email
from ..errors import SuppressionNotFound
from ..messages import Context, timestamp
from ..paging import page_of
from ..storage.database import Database
from ..storage.transaction import Transaction
from .store import SuppressionRow, Suppressions

# Records a lifted suppression: the account, the email key, the key of the call.
RecordLifted = Callable[[str, str, str, Transaction], None]


class SuppressionService(SuppressionServiceServicer):
    """Manages the suppressions of the caller's account."""

    def __init__(
        self, database: Database, suppressions: Suppressions, record_lifted: RecordLifted
    ) -> None:
        self._database = database
        self._suppressions = suppressions
        self._record_lifted = record_lifted

    async def GetSuppression(
        self, request: pb.GetSuppressionRequest, _context: Context
    ) -> pb.GetSuppressionResponse:
        account, key = account_id(), _email_key(request.email)
        row = await self._database.read(lambda tx: self._suppressions.find(account, key, tx))
        return pb.GetSuppressionResponse(suppression=_suppression(row))

    async def ListSuppressions(
        self, request: pb.ListSuppressionsRequest, _context: Context
    ) -> pb.ListSuppressionsResponse:
        account, page = account_id(), page_of(request)
        rows, total = await self._database.read(
            lambda tx: self._suppressions.page(account, page, tx)
        )
        return pb.ListSuppressionsResponse(
            suppressions=[_suppression(row) for row in rows],
            total=total,
            page=page.number,
            limit=page.limit,
        )

    async def DeleteSuppression(
        self, request: pb.DeleteSuppressionRequest, _context: Context
    ) -> pb.DeleteSuppressionResponse:
        account, key = account_id(), _email_key(request.email)
        key_id = current().key_id

        def lift(tx: Transaction) -> None:
            self._suppressions.delete(account, key, tx)
            self._record_lifted(account, key, key_id, tx)

        await self._database.write(lift)
        return pb.DeleteSuppressionResponse()


def _email_key(text: str) -> str:
    """Returns the email key. Raises SuppressionNotFound if the text is not an address."""
    email = parse_email(text)
    if email is None:
        raise SuppressionNotFound
    return email.key


def _suppression(row: SuppressionRow) -> pb.Suppression:
    return pb.Suppression(
        email_hash=row.email_hash,
        reason=subscribers_pb2.Subscriber.Status.ValueType(row.reason),
        created_at=timestamp(row.created_at),
    )
