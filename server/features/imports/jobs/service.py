"""ImportService."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from functools import partial
from pathlib import PurePath
from typing import Any

from roster.v1 import imports_pb2 as pb
from roster.v1.imports_pb2_grpc import ImportServiceServicer
from roster.v1.rows_pb2 import Export

from ....rpc.caller import Caller, account_id, current
from ....rpc.errors import (
    EmailNotVerified,
    ImportNotFound,
    ImportStateConflict,
    OperationNotUndoable,
    ValidationError,
    invalid,
)
from ....rpc.etags import check_change, with_etag
from ....rpc.messages import Context, check_page, csv_header
from ....rpc.paging import page_in
from ....rpc.streams import WatchMethods, accept
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.file_names import disposition
from ....values.ids import checked_id
from ...files import store as files_store
from ...files.store_content import Files
from ...operations import store as operations
from ...operations.messages import operation
from ...operations.rules import JobRequest, Type
from ...operations.store_undo import start_undo
from ...sessions.store import check_credential
from ...subscribers.query.request import FilterExpressions
from ..columns import FAILURE, UnknownColumns
from . import store
from .file_reader import check_charset
from .messages import (
    check_problems,
    delimiter_of,
    import_job,
    listed_job,
    options_of,
    options_text,
    parse_options,
)
from .rules import ACTIVE, OPEN, RETENTION_MILLISECONDS, Progress, State
from .service_upload import UploadMethods, find_import, inspect, message_of, whole
from .store import ImportRow


class ImportService(UploadMethods, WatchMethods, ImportServiceServicer):
    """Manages the imports of the caller's account. `notify` starts operations of accounts."""

    def __init__(
        self,
        database: Database,
        files: Files,
        filters: FilterExpressions,
        notify: Callable[[Collection[str]], None],
    ) -> None:
        self._database = database
        self._files = files
        self._filters = filters
        self._notify = notify
        self._stopping = asyncio.Event()

    async def CreateImport(
        self, request: pb.CreateImportRequest, _context: Context
    ) -> pb.CreateImportResponse:
        account, actor = account_id(), current().actor
        size = whole("size", request.size)
        _check_options(request.options)

        def create(tx: Transaction) -> pb.CreateImportResponse:
            file = files_store.create(account, tx.now + RETENTION_MILLISECONDS, tx)
            row = ImportRow(
                id=tx.new_id(),
                state=State.UPLOADING,
                name=request.name,
                size=size,
                received=0,
                sha256=request.sha256.lower(),
                file_id=file.id,
                options=options_text(request.options),
                inspection="",
                progress="",
                error="",
                operation_id="",
                erased="",
                actor=store.as_json([actor.type, actor.id, actor.name]),
                created_at=tx.now,
                started_at=None,
                ended_at=None,
            )
            store.insert(account, row, tx)
            tx.record_change(row.id)
            return with_etag(pb.CreateImportResponse(import_job=import_job(row, None)))

        return await self._database.write(create)

    async def ListImports(
        self, request: pb.ListImportsRequest, _context: Context
    ) -> pb.ListImportsResponse:
        account, page = account_id(), page_in("imports", request)

        def read(tx: Transaction) -> tuple[list[pb.ImportJob], int, Any]:
            rows, total, following = store.page(account, page, tx)
            runs = store.runs_of(account, rows, tx)
            return [listed_job(row, runs.get(row.operation_id)) for row in rows], total, following

        jobs, total, following = await self._database.read(read)
        reply = pb.ListImportsResponse(imports=jobs, **page.fields(total, following))
        check_page(reply)
        return reply

    async def GetImport(
        self, request: pb.GetImportRequest, _context: Context
    ) -> pb.GetImportResponse:
        _, job = await self._find(request.id)
        return with_etag(pb.GetImportResponse(import_job=job))

    async def UpdateImport(
        self, request: pb.UpdateImportRequest, _context: Context
    ) -> pb.UpdateImportResponse:
        account, import_id = account_id(), checked_id(request.id, ImportNotFound)
        _check_options(request.options)
        options = options_text(request.options)

        def update(tx: Transaction) -> pb.UpdateImportResponse:
            row, message = find_import(account, import_id, tx)
            check_change(request, message, tx)
            is_ready, is_same = row.state == State.READY, options == row.options
            # A repeated call does not start another inspection.
            if not is_same or row.state != State.INSPECTING:
                store.check_state(row, State.UPLOADING, State.READY)
            # What caused the problems can have changed, such as the custom fields.
            if not is_same or (is_ready and message.problems):
                row = row._replace(options=options)
                if is_ready:
                    row = inspect(account, row, tx)
                store.put(account, row, tx)
            return with_etag(pb.UpdateImportResponse(import_job=_changed(account, row, tx)))

        reply = await self._database.write(update)
        self._notify([account])
        return reply

    async def StartImport(
        self, request: pb.StartImportRequest, _context: Context
    ) -> pb.StartImportResponse:
        caller = current()
        account, import_id = caller.account_id, checked_id(request.id, ImportNotFound)
        # The transaction reports a missing import, after it has compared the idempotency key.
        row = await self._database.read(partial(store.find_or_none, account, import_id))
        options = options_of(row.options) if row is not None else pb.ImportOptions()
        creates_all = int(options.unknown_columns) == UnknownColumns.CREATE_FIELDS
        if (creates_all or options.new_fields) and not caller.email_verified:
            raise EmailNotVerified
        texts = await self._filters.texts(options.filter, options.segment_id)
        # Checks them.
        await self._filters.conditions(texts, options.segment_id, options.q)
        message = {
            "action": {},
            "filter": options.filter,
            "segmentId": options.segment_id,
            "q": options.q,
            "dryRun": request.dry_run,
        }

        def start(tx: Transaction) -> pb.StartImportResponse:
            found = store.find(account, import_id, tx)
            check_change(request, message_of(account, found, tx), tx)
            store.check_state(found, State.READY)
            if row is None or found.options != row.options:
                raise ImportStateConflict(state="changed by another call", needed="unchanged")
            check_problems(found)
            job = {"importId": found.id, "mayCreateFields": caller.email_verified}
            content = JobRequest(
                type=Type.SUBSCRIBERS_IMPORT,
                job=job,
                members={"importId": found.id},
                message=message,
                texts=texts,
                by_admin=caller.scope == "admin",
            )
            started = operations.create_job(account, content, found.content.get("rows", 0), tx)
            store.delete_failures(account, found.id, tx)
            progress = Progress(dry_run=request.dry_run)
            found = found._replace(
                state=State.RUNNING,
                progress=store.as_json(progress._asdict()),
                error="",
                operation_id=started.id,
                started_at=tx.now,
            )
            store.put(account, found, tx)
            return with_etag(pb.StartImportResponse(import_job=import_job(found, None)))

        reply = await self._database.write(start)
        self._notify([account])
        return reply

    async def CancelImport(
        self, request: pb.CancelImportRequest, _context: Context
    ) -> pb.CancelImportResponse:
        account, import_id = account_id(), checked_id(request.id, ImportNotFound)

        def cancel(tx: Transaction) -> pb.CancelImportResponse:
            row = store.find(account, import_id, tx)
            check_change(request, message_of(account, row, tx), tx)
            if row.state in ACTIVE:
                operations.cancel(account, row.operation_id, tx)
            if row.state == State.RUNNING and row.run.dry_run:
                store.delete_failures(account, row.id, tx)
                row = store.before_run(row)
            elif row.state in OPEN:
                row = store.without_file(account, row, tx)
                row = row._replace(state=State.CANCELLED, ended_at=tx.now, erased="")
            store.put(account, row, tx)
            return with_etag(pb.CancelImportResponse(import_job=_changed(account, row, tx)))

        reply = await self._database.write(cancel)
        await self._files.collect(account)
        return reply

    async def UndoImport(
        self, request: pb.UndoImportRequest, _context: Context
    ) -> pb.UndoImportResponse:
        caller, import_id = current(), checked_id(request.id, ImportNotFound)
        account = caller.account_id

        def create(tx: Transaction) -> pb.UndoImportResponse:
            row = store.find(account, import_id, tx)
            store.check_state(row, *(state for state in State if state not in OPEN))
            undone = store.run_of(account, row, tx)
            if undone is None:
                raise OperationNotUndoable
            undo = start_undo(account, undone, caller, tx, dry_run=request.dry_run)
            tx.record_change(import_id)
            return with_etag(pb.UndoImportResponse(operation=operation(undo)))

        reply = await self._database.write(create)
        self._notify([account])
        return reply

    async def WatchImport(
        self, request: pb.WatchImportRequest, context: Context
    ) -> AsyncIterator[pb.WatchImportResponse]:
        found = await self._find(request.id)
        read = partial(self._database.read, partial(_find_for, current(), found[0].id))
        async for _, job in self._watch(context, found, read, _is_running):
            yield pb.WatchImportResponse(import_job=job)

    async def ListImportFailures(
        self, request: pb.ListImportFailuresRequest, context: Context
    ) -> AsyncIterator[pb.ListImportFailuresResponse]:
        caller, (row, _) = current(), await self._find(request.id)
        is_csv = request.format == Export.CSV
        ending = f".failures.{'csv' if is_csv else 'ndjson'}"
        name = disposition(PurePath(row.name).stem, ending)
        await accept(context, ("content-disposition", name))
        delimiter = delimiter_of(row.options)
        if is_csv:
            # The charset of the options applies to a file without the mark.
            has_bom = bool(options_of(row.options).charset)
            header = csv_header(_header(row), has_bom=has_bom, delimiter=delimiter)
            yield pb.ListImportFailuresResponse(lines=[header])
        # A dry run that was canceled has no results.
        after = 0 if row.started_at is not None else None
        while after is not None:
            read = partial(_failures_for, caller, row.id, after)
            rows, after = await self._database.read(read)
            reply = pb.ListImportFailuresResponse()
            for each in rows:
                if is_csv:
                    reason = [str(each.line), each.reason, each.field]
                    reply.lines.add(cells=[*each.cells, *reason], delimiter=delimiter)
                else:
                    reply.failures.add(**each._asdict())
            if rows:
                yield reply

    async def DeleteImport(
        self, request: pb.DeleteImportRequest, _context: Context
    ) -> pb.DeleteImportResponse:
        account, import_id = account_id(), checked_id(request.id, ImportNotFound)

        def delete(tx: Transaction) -> pb.DeleteImportResponse:
            row = store.find(account, import_id, tx)
            check_change(request, message_of(account, row, tx), tx)
            if row.state in ACTIVE:
                store.check_state(row, *(state for state in State if state not in ACTIVE))
            store.delete(account, row, tx)
            return pb.DeleteImportResponse()

        reply = await self._database.write(delete)
        await self._files.collect(account)
        return reply


def _changed(account: str, row: ImportRow, tx: Transaction) -> pb.ImportJob:
    """Returns a changed import, and states it for the audit log."""
    job = message_of(account, row, tx)
    tx.changes[-1] = tx.changes[-1]._replace(after=job)
    return job


def _check_options(options: pb.ImportOptions) -> None:
    """Raises ValidationError for options that are not valid for any file."""
    try:
        parse_options(options)
        check_charset(options.charset)
    except ValidationError as error:
        for detail in error.details:
            raise invalid(f"options.{detail.field}", detail.code, detail.message) from None
        raise


def _find_for(caller: Caller, import_id: str, tx: Transaction) -> tuple[ImportRow, pb.ImportJob]:
    """Returns an import. Raises Unauthorized if the key is no longer valid."""
    check_credential(caller.account_id, caller.actor.id, tx)
    return find_import(caller.account_id, import_id, tx)


def _is_running(found: tuple[ImportRow, pb.ImportJob]) -> bool:
    return found[0].state in (State.UPLOADING, *ACTIVE)


def _failures_for(
    caller: Caller, import_id: str, after: int, tx: Transaction
) -> tuple[list[store.FailedRow], int | None]:
    check_credential(caller.account_id, caller.actor.id, tx)
    return store.failures(caller.account_id, import_id, after, tx)


def _header(row: ImportRow) -> list[str]:
    """Returns the header of the CSV of failed rows."""
    if row.content.get("format") == "json":
        return ["text", *FAILURE]
    return [*row.content.get("header", ()), *FAILURE]
