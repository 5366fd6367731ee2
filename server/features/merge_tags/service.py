"""MergeTagService."""

from __future__ import annotations

from roster.v1 import merge_tags_pb2 as pb
from roster.v1.merge_tags_pb2_grpc import MergeTagServiceServicer

from ...rpc.caller import account_id, current
from ...rpc.errors import Forbidden
from ...rpc.messages import Context
from ...security.links import Links, unsubscribe_headers
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..accounts.rules import WRITE, allows
from ..custom_fields import store as custom_fields
from ..subscribers.linked import urls_of
from ..subscribers.store_reading import Reference, check_reference, find
from .rules import Values, link_tags, render


class MergeTagService(MergeTagServiceServicer):
    """Renders templates for subscribers of the caller's account."""

    def __init__(self, database: Database, links: Links) -> None:
        self._database = database
        self._links = links

    async def RenderMergeTags(
        self, request: pb.RenderMergeTagsRequest, _context: Context
    ) -> pb.RenderMergeTagsResponse:
        account, reference = account_id(), check_reference(request.subscriber_id)
        links = link_tags(request.subject, request.body)
        # A link can be followed without a key.
        if links and not allows(current().scope, WRITE):
            raise Forbidden(neededScope=WRITE, scope=current().scope)
        values = await self._database.read(lambda tx: self._values(account, reference, tx))
        rendered = render(request.subject, request.body, values)
        can_unsubscribe = "unsubscribeUrl" in links
        return pb.RenderMergeTagsResponse(
            subject=rendered.subject,
            body=rendered.body,
            unknown=rendered.unknown,
            suggestions=rendered.suggestions,
            headers=unsubscribe_headers(values.built_in["unsubscribeUrl"])
            if can_unsubscribe
            else None,
        )

    def _values(self, account: str, reference: Reference, tx: Transaction) -> Values:
        row = find(account, reference, tx)
        fallbacks = custom_fields.fallbacks(account, tx)
        built_in = row.as_json()
        if self._links.has_url:
            built_in |= urls_of(account, row, self._links, tx.now, can_confirm=True).as_json()
        return Values(built_in, row.values, fallbacks)
