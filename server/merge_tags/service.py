"""MergeTagService."""

from __future__ import annotations

from roster.v1 import merge_tags_pb2 as pb
from roster.v1.merge_tags_pb2_grpc import MergeTagServiceServicer

from ..caller import account_id
from ..custom_fields import store as custom_fields
from ..messages import Context
from ..storage.database import Database
from ..storage.transaction import Transaction
from ..subscribers.store_reading import Reference, check_reference, find
from .rules import Values, render


class MergeTagService(MergeTagServiceServicer):
    """Renders templates for subscribers of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def RenderMergeTags(
        self, request: pb.RenderMergeTagsRequest, _context: Context
    ) -> pb.RenderMergeTagsResponse:
        account, reference = account_id(), check_reference(request.subscriber_id)
        values = await self._database.read(lambda tx: _values(account, reference, tx))
        rendered = render(request.subject, request.body, values)
        return pb.RenderMergeTagsResponse(
            subject=rendered.subject, body=rendered.body, unknown=rendered.unknown
        )


def _values(account: str, reference: Reference, tx: Transaction) -> Values:
    row = find(account, reference, tx)
    fallbacks = custom_fields.fallbacks(account, tx)
    return Values(row.email, row.first_name, row.last_name, row.values, fallbacks)
