"""Runs an import: reads messages, validates rows, stores them and returns results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb

from ..caller import account_id
from ..custom_fields.store import column_fields
from ..errors import invalid
from ..storage.database import Database
from .csv_format import Header
from .import_rows import Importer, OnConflict, Result
from .rules import MAX_REPEATED, Row, Validated, validate_rows
from .store import SubscriberStore

# A row and the number of its line.
NumberedRow = tuple[int, Row]


class Batch(NamedTuple):
    """The rows of a message, and what each asks for."""

    rows: list[NumberedRow]
    validated: list[Validated]


class Stored(NamedTuple):
    """The rows of a transaction, and what became of each."""

    rows: list[NumberedRow]
    results: list[Result]

    def reply(self) -> pb.ImportSubscribersResponse:
        """Returns the message that tells of them."""
        reply = pb.ImportSubscribersResponse()
        add, named = reply.results.add, pb.ImportResult.Outcome.ValueType
        rows = zip(self.rows, self.results, strict=True)
        for (line, row), (outcome, subscriber_id, row_error) in rows:
            # Field by field: given to `add` by name they take nearly twice as long.
            result = add()
            result.line, result.id = line, subscriber_id
            result.email = row.email[:MAX_REPEATED]
            result.outcome = named(outcome)
            if row_error is not None:
                result.reason = pb.BulkFailure.Reason.ValueType(row_error.failure)
                if row_error.field is not None:
                    result.field = row_error.field[:MAX_REPEATED]
        return reply


class ImportPipeline:
    """Takes the messages of one import, in their order.

    The first of them says what is done with addresses that are taken, and up to which line
    rows are passed over: an earlier import has told of them.
    """

    def __init__(self, store: SubscriberStore, database: Database) -> None:
        self._store = store
        self._database = database
        self._importer: Importer | None = None
        self._after_line = 0
        self._header: Header | None = None
        self._last = 0

    async def validated(
        self, requests: AsyncIterator[pb.ImportSubscribersRequest]
    ) -> AsyncGenerator[Batch, None]:
        """Yields what each message holds. Raises ValidationError for a header at fault."""
        async for request in requests:
            if self._importer is None:
                conflict = OnConflict(request.on_conflict or OnConflict.FAIL)
                self._importer = Importer(account_id(), conflict, self._store)
                self._after_line = request.after_line
            rows = [row for row in await self._numbered(request) if row[0] > self._after_line]
            # In a thread of its own: neither the event loop nor the writer waits for it.
            yield Batch(rows, await asyncio.to_thread(validate_rows, [row for _, row in rows]))

    async def stored(self, batches: AsyncIterator[Batch]) -> AsyncGenerator[Stored, None]:
        """Stores what was judged; yields what became of it, a transaction at a time."""
        async for rows, validated in batches:
            assert self._importer is not None
            for part in self._importer.parts(validated):
                results = await self._database.write(
                    partial(self._importer.store_rows, validated[part])
                )
                yield Stored(rows[part], results)

    async def _numbered(self, request: pb.ImportSubscribersRequest) -> list[NumberedRow]:
        """Returns the rows of a message with the numbers of their lines."""
        if request.rows and (request.lines or self._header is not None):
            raise invalid("rows", "INVALID_VALUE", "cannot be used in the same import as lines")
        rows: list[NumberedRow] = []
        for row in request.rows:
            self._last += 1
            rows.append((self._last, row))
        for line in request.lines:
            if 0 < line.number <= self._last:
                raise invalid("lines", "INVALID_VALUE", "must have ascending line numbers")
            self._last = line.number or self._last + 1
            if self._header is None:
                fields = await self._database.read(partial(column_fields, account_id()))
                self._header = Header(line.cells, fields)
            else:
                rows.append((self._last, self._header.row(line.cells)))
        return rows
