"""Receives the files of imports, in parts."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection
from functools import partial

from roster.v1 import imports_pb2 as pb

from ....rpc.caller import account_id
from ....rpc.errors import ImportNotFound, ImportStateConflict, UploadOffsetMismatch, invalid
from ....rpc.etags import check_etag, etag_of, with_etag
from ....rpc.messages import Context
from ....storage.database import Database
from ....storage.transaction import Transaction
from ....values.ids import checked_id
from ...files import store as files_store
from ...files.store import FileMissing, WrongOffset
from ...files.store_content import PART_BYTES, Files, reports_full_disk
from ...operations import store as operations
from ...operations.rules import JobRequest, Type
from . import store
from .messages import check_sha256, import_job
from .rules import State
from .store import ImportRow


class UploadMethods:
    """UploadImportPart of ImportService."""

    _database: Database
    _files: Files
    _notify: Callable[[Collection[str]], None]

    async def UploadImportPart(
        self, request: pb.UploadImportPartRequest, _context: Context
    ) -> pb.UploadImportPartResponse:
        row, job = await self._find(request.id)
        check_etag(request, lambda: etag_of(job))
        offset, data = whole("offset", request.offset), request.part.data
        if len(data) > PART_BYTES:
            raise invalid("part", "TOO_LONG", f"must be at most {PART_BYTES:,} bytes")
        check_sha256("sha256", request.sha256, hashlib.sha256(data).hexdigest())
        if not data or await self._has(row, offset, data):
            return with_etag(pb.UploadImportPartResponse(import_job=job))
        store.check_state(row, State.UPLOADING)
        if offset != row.received:
            raise UploadOffsetMismatch(offset=row.received)
        if offset + len(data) > row.size:
            raise invalid("part", "TOO_LONG", f"exceeds the size of the file, {row.size} bytes")
        try:
            return await self._append(request, row, data)
        except (FileMissing, WrongOffset, UploadOffsetMismatch, ImportStateConflict):
            # Another call can have stored the same part meanwhile.
            found, job = await self._find(request.id)
        if await self._has(found, offset, data):
            return with_etag(pb.UploadImportPartResponse(import_job=job))
        store.check_state(found, State.UPLOADING)
        if (found.file_id, found.received) == (row.file_id, offset):
            raise ImportNotFound  # The file has expired.
        raise UploadOffsetMismatch(offset=found.received)

    async def _append(
        self, request: pb.UploadImportPartRequest, row: ImportRow, data: bytes
    ) -> pb.UploadImportPartResponse:
        """Stores the next part, and starts the inspection after the last one.

        Raises FileMissing, WrongOffset, UploadOffsetMismatch and ImportStateConflict if another
        call changed the import meanwhile.
        """
        account, offset = account_id(), row.received
        end = offset + len(data)
        is_last = end == row.size
        if is_last and row.sha256:
            digest = await self._digest(row, data)
            if digest != row.sha256:
                await self._database.write(partial(_discard, account, row))
                # Texts of more than 120 characters are truncated on gRPC.
                message = f"is not {digest}: send the whole file again from offset 0"
                raise invalid("sha256", "INVALID_VALUE", message)
        part = await self._files.stage(account, row.file_id, offset, data)

        def attach(tx: Transaction) -> pb.UploadImportPartResponse:
            found = store.find(account, row.id, tx)
            check_etag(request, lambda: etag_of(message_of(account, found, tx)))
            store.check_state(found, State.UPLOADING)
            if (found.file_id, found.received) != (row.file_id, offset):
                raise UploadOffsetMismatch(offset=found.received)
            self._files.attach(account, part, tx)
            found = found._replace(received=end)
            if is_last:
                found = inspect(account, found, tx)
            store.put(account, found, tx)
            return with_etag(pb.UploadImportPartResponse(import_job=import_job(found, None)))

        with reports_full_disk():
            reply = await self._database.write(attach)
        if is_last:
            self._notify([account])
        return reply

    async def _find(self, text: str) -> tuple[ImportRow, pb.ImportJob]:
        import_id = checked_id(text, ImportNotFound)
        return await self._database.read(partial(find_import, account_id(), import_id))

    async def _has(self, row: ImportRow, offset: int, data: bytes) -> bool:
        """Whether the received bytes of a file have these at a position."""
        end, stored = offset + len(data), bytearray()
        if end > row.received:
            return False
        try:
            async for chunk in self._files.read(account_id(), row.file_id, offset, end):
                stored += chunk
        except FileMissing:
            return False
        return bytes(stored) == data

    async def _digest(self, row: ImportRow, last: bytes) -> str:
        """Returns the SHA-256 of a file with its last bytes, in hexadecimal digits."""
        digest = hashlib.sha256()
        async for chunk in self._files.read(account_id(), row.file_id, 0, row.received):
            await asyncio.to_thread(digest.update, chunk)
        digest.update(last)
        return digest.hexdigest()


def _discard(account: str, row: ImportRow, tx: Transaction) -> None:
    """Deletes the bytes of a file, so that it can be sent again.

    Raises UploadOffsetMismatch if another call changed it meanwhile.
    """
    found = store.find(account, row.id, tx)
    if (found.state, found.file_id, found.received) != (row.state, row.file_id, row.received):
        raise UploadOffsetMismatch(offset=found.received)
    found = store.without_file(account, found, tx)
    file = files_store.create(account, found.expires_at, tx)
    store.put(account, found._replace(file_id=file.id, received=0), tx)


def find_import(account: str, import_id: str, tx: Transaction) -> tuple[ImportRow, pb.ImportJob]:
    row = store.find(account, import_id, tx)
    return row, message_of(account, row, tx)


def message_of(account: str, row: ImportRow, tx: Transaction) -> pb.ImportJob:
    return import_job(row, store.run_of(account, row, tx))


def whole(field: str, value: float) -> int:
    if not value.is_integer():
        raise invalid(field, "INVALID_TYPE", "must be an integer")
    return int(value)


def inspect(account: str, row: ImportRow, tx: Transaction) -> ImportRow:
    """Starts the inspection of a file, and returns the import."""
    members = {"importId": row.id}
    content = JobRequest(
        type=Type.IMPORT_INSPECTION,
        job=members,
        members=members,
        message={"action": {}},
        texts=[],
        by_admin=False,
    )
    store.delete_failures(account, row.id, tx)
    started = operations.create_job(account, content, row.content.get("rows", 0), tx)
    return store.before_run(row)._replace(state=State.INSPECTING, operation_id=started.id)
