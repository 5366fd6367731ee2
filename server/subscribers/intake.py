"""The messages of an import: from rows and lines to results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial

from roster.v1 import subscribers_pb2 as pb

from ..caller import account_id
from ..custom_fields.store import described
from ..errors import invalid
from ..storage.database import Database
from .importing import Importer, Result, judge
from .rules import Row
from .table import Header

# A row and the number of its line.
Numbered = tuple[int, Row]


class Intake:
    """Takes the messages of one import, in their order.

    Rows up to `after_line` are passed over: an earlier import has told of them.
    """

    def __init__(self, importer: Importer, database: Database, after_line: int) -> None:
        self._importer = importer
        self._database = database
        self._after_line = after_line
        self._header: Header | None = None
        self._last = 0

    async def take(
        self, request: pb.ImportSubscribersRequest
    ) -> AsyncIterator[pb.ImportSubscribersResponse]:
        """Stores what a message holds; yields what became of it, a transaction at a time.

        Raises ValidationError for a header that cannot be understood.
        """
        rows = [row for row in await self._numbered(request) if row[0] > self._after_line]
        # In a thread of its own: neither the event loop nor the writer waits for it.
        judged = await asyncio.to_thread(judge, [row for _, row in rows])
        for part in self._importer.parts(judged):
            results = await self._database.write(partial(self._importer.take, judged[part]))
            yield _reply(rows[part], results)

    async def _numbered(self, request: pb.ImportSubscribersRequest) -> list[Numbered]:
        """Returns the rows of a message with the numbers of their lines."""
        if request.rows and (request.lines or self._header is not None):
            raise invalid("rows", "INVALID_VALUE", "cannot come in one import with lines")
        rows: list[Numbered] = []
        for row in request.rows:
            self._last += 1
            rows.append((self._last, row))
        for line in request.lines:
            if 0 < line.number <= self._last:
                raise invalid("lines", "INVALID_VALUE", "must have numbers that rise")
            self._last = line.number or self._last + 1
            if self._header is None:
                fields = await self._database.read(partial(described, account_id()))
                self._header = Header(line.cells, fields)
            else:
                rows.append((self._last, self._header.row(line.cells)))
        return rows


def _reply(batch: Sequence[Numbered], results: Sequence[Result]) -> pb.ImportSubscribersResponse:
    reply = pb.ImportSubscribersResponse()
    for (line, row), result in zip(batch, results, strict=True):
        told = reply.results.add()
        told.line, told.id, told.email = line, result.subscriber_id, row.email
        told.outcome = pb.ImportResult.Outcome.ValueType(result.outcome)
        if result.refused is not None:
            told.reason = pb.BulkFailure.Reason.ValueType(result.refused.failure)
            if result.refused.field is not None:
                told.field = result.refused.field
    return reply
