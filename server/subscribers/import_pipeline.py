"""Runs an import: reads messages, validates rows, stores them and returns results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from functools import partial
from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb

from ..caller import account_id, current
from ..custom_fields.store import column_fields
from ..errors import invalid
from ..storage.database import Database
from .csv_format import Header
from .history import Actor, Source
from .import_rows import Importer, OnConflict, Result
from .rules import MAX_REPEATED, Row, Validated, validate_rows
from .store import SubscriberStore


class NumberedRow(NamedTuple):
    line: int
    row: Row


class Batch(NamedTuple):
    """The rows of a message, and the validated rows."""

    rows: list[NumberedRow]
    validated: list[Validated]


class Stored(NamedTuple):
    """The rows of a transaction, and their results."""

    rows: list[NumberedRow]
    results: list[Result]

    def reply(self) -> pb.ImportSubscribersResponse:
        reply = pb.ImportSubscribersResponse()
        add, to_proto = reply.results.add, pb.ImportResult.Outcome.ValueType
        rows = zip(self.rows, self.results, strict=True)
        for (line, row), (outcome, subscriber_id, row_error) in rows:
            # Keyword arguments of `add` take nearly twice as long (`import` in `make bench`).
            result = add()
            result.line, result.id = line, subscriber_id
            result.email = row.email[:MAX_REPEATED]
            result.outcome = to_proto(outcome)
            if row_error is not None:
                result.reason = pb.BulkFailure.Reason.ValueType(row_error.failure)
                if row_error.field is not None:
                    result.field = row_error.field[:MAX_REPEATED]
        return reply


class ImportPipeline:
    """Validates and stores the messages of one import, in order.

    The first message sets the conflict rule and the line up to which rows are skipped.
    """

    def __init__(self, store: SubscriberStore, database: Database) -> None:
        self._store = store
        self._database = database
        self._importer: Importer | None = None
        self._after_line = 0
        self._header: Header | None = None
        self._last_line = 0

    async def validated(
        self, requests: AsyncIterator[pb.ImportSubscribersRequest]
    ) -> AsyncGenerator[Batch, None]:
        """Yields the validated rows of each message. Raises ValidationError for the header."""
        async for request in requests:
            if self._importer is None:
                conflict = OnConflict(request.on_conflict or OnConflict.FAIL)
                by = Actor(Source.IMPORT, current().key_id)
                self._importer = Importer(account_id(), conflict, self._store, by)
                self._after_line = request.after_line
            rows = [row for row in await self._numbered(request) if row.line > self._after_line]
            # In another thread, so that the event loop and the writer thread do not wait.
            yield Batch(rows, await asyncio.to_thread(validate_rows, [row for _, row in rows]))

    async def stored(self, batches: AsyncIterator[Batch]) -> AsyncGenerator[Stored, None]:
        """Stores validated rows. Yields the results of each transaction."""
        async for rows, validated in batches:
            assert self._importer is not None
            for chunk in self._importer.chunks(validated):
                results = await self._database.write(
                    partial(self._importer.store_rows, validated[chunk])
                )
                yield Stored(rows[chunk], results)

    async def _numbered(self, request: pb.ImportSubscribersRequest) -> list[NumberedRow]:
        """Returns the rows of a message with their line numbers."""
        if request.rows and (request.lines or self._header is not None):
            raise invalid("rows", "INVALID_VALUE", "cannot be used in the same import as lines")
        rows: list[NumberedRow] = []
        for row in request.rows:
            self._last_line += 1
            rows.append(NumberedRow(self._last_line, row))
        for line in request.lines:
            if 0 < line.number <= self._last_line:
                raise invalid("lines", "INVALID_VALUE", "must have ascending line numbers")
            self._last_line = line.number or self._last_line + 1
            if self._header is None:
                fields = await self._database.read(partial(column_fields, account_id()))
                self._header = Header(line.cells, fields)
            else:
                rows.append(NumberedRow(self._last_line, self._header.row(line.cells)))
        return rows
