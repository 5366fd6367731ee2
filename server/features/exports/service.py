"""SubscriberService.ExportSubscribers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from roster.v1 import subscribers_pb2 as pb
from roster.v1.rows_pb2 import Export

from ...rpc.caller import Caller, current
from ...rpc.errors import Forbidden, PublicUrlNotSet, invalid
from ...rpc.messages import Context, check_bom, csv_header, split_message
from ...rpc.streams import accept
from ...security.links import Links
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.clock import Clock, iso8601
from ...values.file_names import disposition
from ...values.ids import is_id
from ..accounts.rules import WRITE, allows
from ..audit.audited_database import record_call
from ..custom_fields.store import column_fields
from ..sessions.store import check_credential
from ..subscribers import linked
from ..subscribers.csv_format import column_cells, header_cells, row_cells
from ..subscribers.fields import SubscriberRow
from ..subscribers.linked import SubscriberUrls
from ..subscribers.messages import fill_all, fill_urls
from ..subscribers.query.plan import PagePosition
from ..subscribers.query.request import FilterExpressions
from ..subscribers.query.store_pages import page_without_total
from .columns import Column, clear_others, columns_of, stored
from .segment_names import segment_name

# The maximum number of subscribers in one read. Bounds the memory of an export.
BATCH = 500
# The exports of an account that read at the same time. A batch of reads keeps the rows of all of
# them until it ends, so that many slow clients would occupy much memory.
MAX_READING = 4
_reading: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()


class ExportMethods:
    """A part of SubscriberService, which sets the attributes."""

    _database: Database
    _filters: FilterExpressions
    _links: Links
    _clock: Clock

    async def ExportSubscribers(
        self, request: pb.ExportSubscribersRequest, context: Context
    ) -> AsyncIterator[pb.ExportSubscribersResponse]:
        caller, tree = current(), await self._filters.export_tree(request)
        account = caller.account_id
        is_csv = request.format == Export.CSV
        check_bom(has_bom=request.bom, is_csv=is_csv)
        after = request.after_id or None
        if after is not None and not is_id(after):
            raise invalid("afterId", "INVALID_FORMAT", "must be a subscriber ID")
        with_links = bool(request.include)
        if with_links and not allows(caller.scope, WRITE):
            raise Forbidden(neededScope=WRITE, scope=caller.scope)
        if with_links and not self._links.has_url:
            raise PublicUrlNotSet
        keys: list[str] = []
        if is_csv or request.columns:
            fields = await self._database.read(lambda tx: column_fields(account, tx))
            keys = [field.key for field in fields]
        full = request.view == pb.Subscriber.FULL
        columns = columns_of(request.columns, keys, full=full) if request.columns else None
        await record_call(self._database)
        suffix, day = "csv" if is_csv else "ndjson", iso8601(self._clock())[:10]
        words = _words(request)
        if request.segment_id:
            words = await self._database.read(partial(segment_name, account, request.segment_id))
        await accept(context, ("content-disposition", disposition(words, f"-{day}.{suffix}")))
        if is_csv:
            more = linked.COLUMNS if with_links else ()
            if columns is not None:
                cells = [*stored(columns), *more]
            else:
                cells = header_cells(keys, full=full, more=more)
            delimiter = _delimiter(request)
            header = csv_header(cells, has_bom=request.bom, delimiter=delimiter)
            yield pb.ExportSubscribersResponse(lines=[header])
        limit, reading = BATCH, _reading.setdefault(account, asyncio.Semaphore(MAX_READING))
        while True:
            position, now = PagePosition(limit, after=after), self._clock()
            async with reading:
                rows = await self._database.read(partial(_next_rows, caller, tree, position))
                if not rows:
                    return
                urls = self._urls(account, rows, now) if with_links else None
                pieces = list(split_message(_exported(rows, request, keys, columns, urls)))
                after, is_last = rows[-1].id, len(rows) < limit
            # Reads about one message of large subscribers at a time.
            limit = min(limit * 2, BATCH) if len(pieces) == 1 else limit // len(pieces) or 1
            # Released before the yield, which waits for a slow client.
            del rows, urls
            while pieces:
                yield pieces.pop(0)
            if is_last:
                return

    def _urls(self, account: str, rows: Sequence[SubscriberRow], now: int) -> list[SubscriberUrls]:
        return [linked.urls_of(account, row, self._links, now) for row in rows]


def _next_rows(
    caller: Caller, tree: Any, position: PagePosition, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the next subscribers. Raises Unauthorized if the key is no longer valid."""
    check_credential(caller.account_id, caller.actor.id, tx)
    return page_without_total(caller.account_id, tree, position, tx)


def _exported(
    rows: Sequence[SubscriberRow],
    request: pb.ExportSubscribersRequest,
    keys: Sequence[str],
    columns: Sequence[Column] | None,
    urls: Sequence[SubscriberUrls] | None,
) -> pb.ExportSubscribersResponse:
    reply, full = pb.ExportSubscribersResponse(), request.view == pb.Subscriber.FULL
    if request.format == Export.CSV:
        escapes = not request.HasField("escape_formulas") or request.escape_formulas
        delimiter = _delimiter(request)
        for index, row in enumerate(rows):
            more = urls[index] if urls else ()
            if columns is not None:
                cells = column_cells(row, columns, escapes_formulas=escapes)
                cells += [text or "" for text in more]
            else:
                cells = row_cells(row, keys, full=full, more=more, escapes_formulas=escapes)
            reply.lines.add(cells=cells, delimiter=delimiter)
    else:
        fill_all(reply.subscribers, rows, full=full or columns is not None)
        if columns is not None:
            clear_others(reply.subscribers, columns)
        for message, each in zip(reply.subscribers, urls or (), strict=False):
            fill_urls(message, each)
    return reply


def _delimiter(request: pb.ExportSubscribersRequest) -> str:
    """Returns the delimiter for lines of CSV; empty for the comma."""
    return ";" if request.delimiter == Export.SEMICOLON else ""


def _words(request: pb.ExportSubscribersRequest) -> str:
    """Returns the filters of a request as words for the name of its file."""
    status = pb.Subscriber.Status.Name(request.status) if request.status else ""
    return " ".join(filter(None, (request.filter, request.q, status, request.tag)))
