"""ExportService: files of subscribers that an operation writes."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import aclosing
from functools import partial

from google.api.httpbody_pb2 import HttpBody

from roster.v1 import exports_pb2 as pb
from roster.v1.exports_pb2_grpc import ExportServiceServicer
from roster.v1.rows_pb2 import Export
from roster.v1.subscribers_pb2 import Subscriber

from ...rpc.caller import Caller, account_id, current
from ...rpc.errors import (
    ExportNotFound,
    ExportNotReady,
    Forbidden,
    RangeNotSatisfiable,
    invalid,
)
from ...rpc.etags import check_change, check_etag, has_etag, with_etag
from ...rpc.messages import Context, check_bom, check_page
from ...rpc.paging import page_in
from ...rpc.ranges import range_of
from ...rpc.streams import WatchMethods, accept
from ...storage.database import Database
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.file_names import disposition
from ...values.ids import checked_id
from ..custom_fields.store import column_fields
from ..files.store import FileMissing
from ..files.store_content import Files
from ..operations import store as operations
from ..operations.messages import check_excluded
from ..operations.rules import JobRequest, State, Type
from ..operations.store_filters import name_revision
from ..operations.store_steps import count_selected
from ..sessions.store import check_credential
from ..subscribers.query.request import FilterExpressions
from ..subscribers.store_reading import find_each
from . import store
from .columns import columns_of, stored
from .messages import export
from .segment_names import segment_name

# A download ends within so many seconds after its key is revoked, and the next byte is sent.
CHECK_SECONDS = 1.0
_MEDIA_TYPES = {"CSV": "text/csv; charset=utf-8", "NDJSON": "application/x-ndjson"}
_SUFFIXES = {"CSV": "csv", "NDJSON": "ndjson"}


class ExportService(WatchMethods, ExportServiceServicer):
    """Manages the exports of the caller's account. `notify` starts operations of accounts."""

    def __init__(
        self,
        database: Database,
        filters: FilterExpressions,
        files: Files,
        notify: Callable[[Collection[str]], None],
    ) -> None:
        self._database = database
        self._filters = filters
        self._files = files
        self._notify = notify
        self._stopping = asyncio.Event()

    async def CreateExport(
        self, request: pb.CreateExportRequest, _context: Context
    ) -> pb.CreateExportResponse:
        account, credential = account_id(), current().actor.id
        is_csv = request.format != Export.NDJSON
        check_bom(has_bom=request.bom, is_csv=is_csv)
        fields = await self._database.read(partial(column_fields, account))
        full = request.view == Subscriber.FULL
        columns = columns_of(request.columns, [field.key for field in fields], full=full)
        # Read first, to detect a change of the segment or of names after they are read.
        names_before = await self._database.read(partial(name_revision, account))
        texts = await self._filters.texts(request.filter, request.segment_id)
        tree = await self._filters.read(request.filter, request.segment_id, request.q)
        if request.ids and (request.filter or request.segment_id or request.q):
            raise invalid("ids", "INVALID_VALUE", "excludes filter, segmentId and q")
        check_excluded(request.ids, request.exclude_ids)
        ids, excluded = sorted(set(request.ids)), sorted(set(request.exclude_ids))
        if ids:
            total = len(await self._database.read(partial(find_each, account, ids)))
        else:
            count = partial(count_selected, account, tree, excluded)
            total, _ = await self._database.read(count)
        job = {
            "format": Export.Format.Name(Export.CSV if is_csv else Export.NDJSON),
            "view": Subscriber.View.Name(request.view or Subscriber.BASIC),
            "columns": list(request.columns),
            "names": stored(columns),
            "bom": request.bom,
            "delimiter": ";" if request.delimiter == Export.SEMICOLON else ",",
            "ids": ids,
            "excludeIds": excluded,
            "escapeFormulas": not request.HasField("escape_formulas") or request.escape_formulas,
        }
        selected = {
            "filter": request.filter,
            "segmentId": request.segment_id,
            "q": request.q,
        }
        message = {"action": {}, **{name: text for name, text in selected.items() if text}}
        job_request = JobRequest(Type.SUBSCRIBERS_EXPORT, job, {}, message, texts, by_admin=False)

        def create(tx: Transaction) -> pb.CreateExportResponse:
            # Counting can take longer than the deletion of an account waits for its calls.
            check_credential(account, credential, tx)
            state = store.create(account, job_request, total, tx)
            if texts and name_revision(account, tx) != names_before:
                ended = operations.fail_changed(account, state.operation, tx)
                state = state._replace(operation=ended)
            return with_etag(pb.CreateExportResponse(export=export(state)))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def ListExports(
        self, request: pb.ListExportsRequest, _context: Context
    ) -> pb.ListExportsResponse:
        account, page = account_id(), page_in("exports", request)
        states, total, following = await self._database.read(partial(store.page, account, page))
        reply = pb.ListExportsResponse(exports=map(export, states), **page.fields(total, following))
        check_page(reply)
        return reply

    async def GetExport(
        self, request: pb.GetExportRequest, _context: Context
    ) -> pb.GetExportResponse:
        state = await self._find(request.id)
        return with_etag(pb.GetExportResponse(export=export(state)))

    async def CancelExport(
        self, request: pb.CancelExportRequest, _context: Context
    ) -> pb.CancelExportResponse:
        caller, export_id = current(), checked_id(request.id, ExportNotFound)
        account = caller.account_id

        def cancel(tx: Transaction) -> pb.CancelExportResponse:
            check_change(request, export(_find_own(caller, export_id, tx)), tx)
            state = store.cancel(account, export_id, tx)
            return with_etag(pb.CancelExportResponse(export=export(state)))

        reply = await self._database.write(cancel)
        await self._files.collect(account)
        return reply

    async def DeleteExport(
        self, request: pb.DeleteExportRequest, _context: Context
    ) -> pb.DeleteExportResponse:
        caller, export_id = current(), checked_id(request.id, ExportNotFound)
        account = caller.account_id

        def delete(tx: Transaction) -> pb.DeleteExportResponse:
            check_change(request, export(_find_own(caller, export_id, tx)), tx)
            store.delete(account, export_id, tx)
            return pb.DeleteExportResponse()

        reply = await self._database.write(delete)
        await self._files.collect(account)
        return reply

    async def WatchExport(
        self, request: pb.WatchExportRequest, context: Context
    ) -> AsyncIterator[pb.WatchExportResponse]:
        state = await self._find(request.id)
        read = partial(self._database.read, partial(_find_for, current(), state.row.id))
        async for each in self._watch(
            context, state, read, lambda state: state.operation.is_running
        ):
            yield pb.WatchExportResponse(export=export(each))

    async def DownloadExport(
        self, request: pb.DownloadExportRequest, context: Context
    ) -> AsyncIterator[HttpBody]:
        caller, state = current(), await self._find(request.id)
        if state.operation.is_running or state.operation.state != State.SUCCEEDED:
            raise ExportNotReady
        digest, size = state.row.sha256, state.size
        etag = f'"{digest[:32]}"'
        check_etag(request, lambda: etag)
        metadata = [
            ("accept-ranges", "bytes"),
            ("etag", etag),
            ("cache-control", "private, no-store"),
        ]
        if has_etag(request.if_none_match, etag):
            await accept(context, *metadata)
            return
        try:
            part = None
            if request.range and request.if_range in ("", etag):
                part = range_of(request.range, size)
        except RangeNotSatisfiable:
            unsatisfied = ("content-range", f"bytes */{size}")
            context.set_trailing_metadata((*(context.trailing_metadata() or ()), unsatisfied))
            raise
        start, end = part or (0, size)
        chunks = self._files.read_in_pieces(caller.account_id, state.row.file_id, start, end)
        async with aclosing(chunks):
            try:
                # Read before the response begins, because a restored database has no files.
                first = await anext(chunks, b"")
            except FileMissing:
                raise ExportNotFound from None
            await self._database.write(lambda tx: tx.record_change(state.row.id))
            selected = state.operation.as_json()
            words = f"{selected['filter']} {selected['q']}"
            if segment := selected["segmentId"]:
                find_name = partial(segment_name, caller.account_id, segment)
                words = await self._database.read(find_name)
            sha256 = base64.b64encode(bytes.fromhex(digest)).decode()
            metadata += [
                ("content-disposition", disposition(words, _ending(state))),
                ("repr-digest", f"sha-256=:{sha256}:"),
                ("x-content-length", str(end - start)),
            ]
            if part is not None:
                metadata.append(("content-range", f"bytes {start}-{end - 1}/{size}"))
            await accept(context, *metadata)
            content_type = _MEDIA_TYPES[state.job["format"]]
            checked = time.monotonic()
            yield HttpBody(content_type=content_type, data=first)
            del first
            try:
                async for chunk in chunks:
                    if time.monotonic() > checked + CHECK_SECONDS:
                        await self._database.read(
                            partial(check_credential, caller.account_id, caller.actor.id)
                        )
                        checked = time.monotonic()
                    yield HttpBody(data=chunk)
            except FileMissing:
                raise ExportNotFound from None

    async def _find(self, text: str) -> store.ExportState:
        export_id = checked_id(text, ExportNotFound)
        return await self._database.read(partial(store.find, account_id(), export_id))


def _find_own(caller: Caller, export_id: str, tx: Transaction) -> store.ExportState:
    """Returns an export that the caller may delete. Raises Forbidden for another one."""
    state = store.find(caller.account_id, export_id, tx)
    actor = state.operation.content.actor
    is_own = actor is not None and actor.id == caller.actor.id
    if caller.scope == "read" and not is_own:
        raise Forbidden(neededScope="write", scope=caller.scope)
    return state


def _find_for(caller: Caller, export_id: str, tx: Transaction) -> store.ExportState:
    """Returns an export. Raises Unauthorized if the key is no longer valid."""
    check_credential(caller.account_id, caller.actor.id, tx)
    return store.find(caller.account_id, export_id, tx)


def _ending(state: store.ExportState) -> str:
    """Returns the end of a name with the time of the export, such as -20261127-105826.csv."""
    time = iso8601(state.operation.created_at)
    date, clock = time[:10].replace("-", ""), time[11:19].replace(":", "")
    return f"-{date}-{clock}.{_SUFFIXES[state.job['format']]}"
