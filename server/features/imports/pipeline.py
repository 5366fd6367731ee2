"""Runs an import: reads messages, validates rows, stores them and returns results."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from functools import partial
from typing import NamedTuple

from roster.v1 import subscribers_pb2 as pb
from roster.v1.http_pb2 import CsvLine
from roster.v1.rows_pb2 import Import

from ...rpc.caller import account_id, current
from ...rpc.errors import EmailNotVerified
from ...rpc.messages import select_results
from ...rpc.streams import end
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..custom_fields.store import column_fields
from ..sessions.store import check_credential
from ..subscribers.history import Source
from ..subscribers.query.request import FilterExpressions
from ..subscribers.query.tree import EVERYONE
from ..subscribers.row_writer import Result, RowWriter
from ..subscribers.rules import Row, Validated
from ..subscribers.store import SubscriberStore
from .columns import UnknownColumns
from .dry_run import DryRun, rolled_back
from .header import Header
from .messages import Options, Summary, reply_of
from .new_fields import NewFields, UnknownFields
from .row_filter import RowFilter
from .row_reader import Batch, RowReader, split_header


class Write(NamedTuple):
    """The rows of a transaction, which waits or runs, and their future results."""

    rows: Sequence[Row]
    validated: Sequence[Validated]
    results: asyncio.Future[list[Result]]


class ImportPipeline:
    """Validates and stores the messages of one import, in order.

    The first message sets the options.
    """

    def __init__(
        self, store: SubscriberStore, database: Database, filters: FilterExpressions
    ) -> None:
        self._store = store
        self._database = database
        self._filters = filters
        # Transactions run in other threads.
        self._caller = current()
        self._options = Options(pb.ImportSubscribersRequest())
        self._reader = RowReader(self._options)
        self._writer: RowWriter | None = None
        self._dry_run: DryRun | None = None
        self._new_fields: NewFields | None = None
        self._unknown_fields: UnknownFields | None = None
        self._summary = Summary()
        # Of the transactions that may still wait or run.
        self._results: deque[asyncio.Future[list[Result]]] = deque()

    async def validated(
        self, requests: AsyncIterator[pb.ImportSubscribersRequest]
    ) -> AsyncGenerator[Batch, None]:
        """Yields the validated rows of each message. Raises ValidationError for the header."""
        async for request in requests:
            is_first = self._writer is None
            if is_first:
                self._start(Options(request))
                tree = await self._filters.read(request.filter, request.segment_id, request.q)
                row_filter = None if tree == EVERYONE else RowFilter(tree)
                self._reader = RowReader(self._options, row_filter)
            lines = await self._without_header(request)
            # In another thread, so that the event loop and the writer thread do not wait.
            batch = await asyncio.to_thread(self._reader.read, request, lines)
            if is_first and self._reader.header is None:
                await self._check_fields(batch.validated)
            yield batch

    async def writes(self, batches: AsyncIterator[Batch]) -> AsyncGenerator[Write, None]:
        """Starts the transactions that store validated rows, and yields each when it is started.

        If the consumer reads one ahead, the next transaction is queued while one runs.
        """
        async for rows, validated in batches:
            assert self._writer is not None
            for chunk in self._writer.chunks([each.line for each in rows], validated):
                results = asyncio.ensure_future(self._store_rows(self._writer, validated[chunk]))
                self._results.append(results)
                yield Write(rows[chunk], validated[chunk], results)

    async def replies(
        self, writes: AsyncIterator[Write]
    ) -> AsyncGenerator[pb.ImportSubscribersResponse, None]:
        """Yields the results of each transaction, then the summary."""
        async for rows, validated, results in writes:
            stored = await results
            self._results.popleft()
            self._summary.add(rows, validated, stored)
            reply = reply_of(rows, stored)
            if select_results(reply, self._options.results):
                yield reply
        yield pb.ImportSubscribersResponse(summary=self._summary_message())

    async def aclose(self) -> None:
        """Cancels the transactions that have not begun, and waits for the others."""
        for results in self._results:
            results.cancel()
        while self._results:
            await end(self._results.popleft())

    def _start(self, options: Options) -> None:
        self._options = options
        since = 0 if options.after_line > 0 else None
        self._writer = RowWriter(
            account_id(), options.on_conflict, self._store, Source.IMPORT, since=since
        )
        self._unknown_fields = self._new_unknown_fields()
        if options.is_dry_run:
            self._dry_run = DryRun(self._database, partial(self._stored, self._writer))

    def _new_unknown_fields(self) -> UnknownFields:
        return UnknownFields(
            account_id(),
            self._options.columns,
            checks_consent=not self._options.is_own_export,
            may_create=current().email_verified,
        )

    async def _check_fields(self, rows: Sequence[Validated]) -> None:
        """Raises the error of custom fields that JSON rows would fail to create."""
        if self._options.columns.unknown is UnknownColumns.CREATE_FIELDS:
            await rolled_back(self._database, partial(self._new_unknown_fields().resolve, rows))

    async def _store_rows(self, writer: RowWriter, rows: Sequence[Validated]) -> list[Result]:
        if self._dry_run is not None:
            return await self._dry_run.run(rows)
        return await self._database.write(partial(self._stored, writer, rows))

    def _stored(
        self, writer: RowWriter, rows: Sequence[Validated], tx: Transaction
    ) -> list[Result]:
        """Stores the rows of a transaction, which a dry run rolls back."""
        check_credential(self._caller.account_id, self._caller.actor.id, tx)
        if self._dry_run is not None:
            self._create_fields(tx)
        if self._reader.header is None and self._unknown_fields is not None:
            if self._dry_run is not None:
                self._unknown_fields.create(tx)
            rows = self._unknown_fields.resolve(rows, tx)
        return writer.store_rows(rows, tx)

    async def _without_header(self, request: pb.ImportSubscribersRequest) -> Sequence[CsvLine]:
        """Returns the lines of a message after the header, which is parsed.

        Raises ValidationError if subscribers and lines are mixed.
        """
        reader = self._reader
        header, lines = split_header(request, has_header=reader.header is not None)
        if header is not None:
            reader.last_line = header.number or reader.last_line + 1
            reader.header = await self._parsed_header(list(header.cells))
        return lines

    async def _parsed_header(self, cells: Sequence[str]) -> Header:
        fields = await self._database.read(partial(column_fields, account_id()))
        header = Header(cells, fields, self._options.columns)
        new = self._new_fields = NewFields(account_id(), header.columns, fields)
        if not new.by_position:
            return header
        if new.fields and not current().email_verified:
            raise EmailNotVerified
        if self._dry_run is not None:
            await self._dry_run.run(())
        else:
            await self._database.write(self._create_fields)
        columns = [field.column for field in new.fields]
        return Header(cells, [*fields, *columns], self._options.columns, created=new.by_position)

    def _create_fields(self, tx: Transaction) -> None:
        check_credential(self._caller.account_id, self._caller.actor.id, tx)
        if self._new_fields is not None:
            self._new_fields.create(tx)

    def _summary_message(self) -> pb.ImportSummary:
        message = self._summary.message()
        message.dry_run = self._options.is_dry_run
        header, unknown_fields = self._reader.header, self._unknown_fields
        unrecognized = self._reader.unrecognized
        if header is not None:
            if header.preset is not None:
                message.preset = Import.Preset.Value(header.preset.name)
            message.ignored_columns.extend(header.columns.ignored)
            if self._new_fields is not None:
                message.created_fields.extend(field.key for field in self._new_fields.fields)
        elif unknown_fields is not None:
            message.ignored_columns.extend(unknown_fields.ignored)
            message.created_fields.extend(unknown_fields.created)
        for column, cells in unrecognized.by_column.items():
            message.unrecognized_cells.add(column=column, **cells._asdict())
        return message
