"""MergeTagService."""

from __future__ import annotations

from roster.v1 import merge_tags_pb2 as pb
from roster.v1.merge_tags_pb2_grpc import MergeTagServiceServicer

from ..caller import account_id
from ..custom_fields import store as custom_fields
from ..errors import SubscriberNotFound
from ..ids import checked_id
from ..messages import Context
from ..storage.database import Database
from ..storage.transaction import Transaction
from ..subscribers.store_reading import find
from .rules import Values, render


class MergeTagService(MergeTagServiceServicer):
    """Renders templates for subscribers of the caller's account."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def RenderMergeTags(
        self, request: pb.RenderMergeTagsRequest, context: Context
    ) -> pb.RenderMergeTagsResponse:
        account = account_id()
        subscriber_id = checked_id(request.subscriber_id, SubscriberNotFound)
        values = await self._database.read(lambda tx: _values(account, subscriber_id, tx))
        rendered = render(request.subject, request.body, values)
        return pb.RenderMergeTagsResponse(
            subject=rendered.subject, body=rendered.body, unknown=rendered.unknown
        )


def _values(account: str, subscriber_id: str, tx: Transaction) -> Values:
    row = find(account, subscriber_id, tx)
    fallbacks = custom_fields.fallbacks(account, tx)
    return Values(row.email, row.first_name, row.last_name, row.values, fallbacks)
