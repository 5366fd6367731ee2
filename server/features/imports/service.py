"""SubscriberService.ImportSubscribers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from roster.v1 import subscribers_pb2 as pb

from ...rpc.messages import Context, split_message
from ...rpc.streams import accept_with_first, prefetch
from ...storage.database import Database
from ..subscribers.query.request import FilterExpressions
from ..subscribers.store import SubscriberStore
from .pipeline import ImportPipeline


class ImportMethods:
    """A part of SubscriberService, which sets the attributes."""

    _database: Database
    _store: SubscriberStore
    _filters: FilterExpressions

    async def ImportSubscribers(
        self, requests: AsyncIterator[pb.ImportSubscribersRequest], context: Context
    ) -> AsyncIterator[pb.ImportSubscribersResponse]:
        # Reading, validating, storing and responding run concurrently, on one message each. One
        # more transaction is queued.
        # The generators are closed explicitly. Otherwise they could outlive the call.
        pipeline = ImportPipeline(self._store, self._database, self._filters)
        async with (
            aclosing(pipeline),
            aclosing(prefetch(requests)) as messages,
            aclosing(pipeline.validated(messages)) as batches,
            # An invalid first message, such as an invalid header, fails the whole call.
            aclosing(accept_with_first(context, batches)) as accepted,
            aclosing(prefetch(accepted)) as validated,
            aclosing(pipeline.writes(validated)) as writes,
            aclosing(prefetch(writes)) as started,
            aclosing(pipeline.replies(started)) as replies,
        ):
            async for reply in replies:
                for piece in split_message(reply):
                    yield piece
