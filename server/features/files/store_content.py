"""Encrypts large files of accounts, and stores them in parts.

On a database server, a part is the row of a table. On SQLite it is a file on disk, in a folder of
the account, and its row has the name: a large row would occupy the only writer and the write-ahead
log. The file is written under a temporary name, synced and renamed, and so is the folder synced,
before the row is stored. A part exists once its row is committed. A file on disk without a row, of
a process that was killed or a row that was deleted, is removed by `collect` and `collect_all`.

A part is encrypted with the account, the file and its number as associated data, so that parts
cannot be exchanged. Files are in no backup and no copy of a database.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import secrets
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from ...rpc import caller
from ...rpc.errors import DatabaseFull, InsufficientStorage
from ...security.encryption import DecryptionError, Encryption
from ...storage.database import Database
from ...storage.transaction import Transaction
from . import store
from .store import FileMissing, FileRow, PartRow, WrongOffset

# Maximum number of plain bytes of a part.
PART_BYTES = 1024 * 1024
# A last part that is smaller is replaced by one with the next bytes too, so that many small
# appends do not make many parts.
MIN_PART_BYTES = 64 * 1024
# Maximum number of bytes that `Files.read_in_pieces` yields at once.
PIECE_BYTES = 32 * 1024
# The parts that readers of pieces have in memory together. With 24, 500 readers occupied 75 MiB.
MAX_OPEN_PARTS = 8
# The files whose hash is continued in memory.
MAX_HASHES = 64
_PURPOSE = "files"
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


@dataclass(weakref_slot=True, slots=True, frozen=True)
class StagedPart:
    """A part that is written, but no part of its file before `Files.attach` is committed.

    `size` is that of the file without the bytes that are appended.
    """

    file_id: str
    size: int
    row: PartRow


class Sha256(NamedTuple):
    """The SHA-256 of a file."""

    digest: Any

    def with_more(self, data: bytes) -> str:
        """Returns that of the file and more bytes, in hexadecimal."""
        more = self.digest.copy()
        more.update(data)
        return str(more.hexdigest())

    @property
    def hex(self) -> str:
        return str(self.digest.hexdigest())


class Files:
    """The files of all accounts, in the database or, if it has a folder for files, in there."""

    def __init__(self, database: Database, encryption: Encryption) -> None:
        self._database = database
        self._encryption = encryption
        self._folder = database.files_folder
        # By name on disk. An entry ends with the last reference to the part.
        self._staged: WeakValueDictionary[str, StagedPart] = WeakValueDictionary()
        # The number of bytes and their hash, by file.
        self._hashes: OrderedDict[tuple[str, str], tuple[int, Any]] = OrderedDict()
        # The part that each reader of pieces reads; the first has waited longest for its client.
        self._open_parts: OrderedDict[object, tuple[PartRow, bytes]] = OrderedDict()
        self._opening = asyncio.Semaphore(MAX_OPEN_PARTS)

    def using(self, database: Database) -> Files:
        """Returns the same files, which it reads and writes through another database."""
        files = copy(self)
        files._database = database  # noqa: SLF001 - of the same class
        return files

    async def append(self, account_id: str, file_id: str, offset: int, data: bytes) -> int:
        """Appends at most PART_BYTES at the end of a file, durably, and returns its size.

        Raises FileMissing, WrongOffset if `offset` is not the end, InsufficientStorage if the disk
        is full, and FileQuotaExceeded. The file is then unchanged.
        """
        if not data:
            row = await self._database.read(partial(store.find, account_id, file_id))
            if row.size != offset:
                raise WrongOffset(row.size)
            return offset
        part = await self.stage(account_id, file_id, offset, data)
        with reports_full_disk():
            await self._database.write(partial(self.attach, account_id, part))
        return part.row.end

    async def stage(self, account_id: str, file_id: str, offset: int, data: bytes) -> StagedPart:
        """Encrypts and writes bytes for the end of a file. Raises as `append`.

        Takes no transaction. Until `attach`, the file is unchanged.
        """
        assert 0 < len(data) <= PART_BYTES
        row, last = await self._database.read(partial(_end, account_id, file_id))
        if row.size != offset:
            raise WrongOffset(row.size)
        number = 0 if last is None else last.part + 1
        if last is not None and last.size < min(MIN_PART_BYTES, PART_BYTES - len(data) + 1):
            number, offset = last.part, last.start
            data = await asyncio.to_thread(self._open, account_id, file_id, last) + data
        name = f"{file_id}.{number}.{secrets.token_hex(8)}" if self._folder else ""
        part = PartRow(number, offset, len(data), name, None)
        if self._folder is None:
            content = await asyncio.to_thread(self._encrypt, account_id, file_id, part, data)
            return StagedPart(file_id, row.size, part._replace(content=content))
        self._staged[name] = staged = StagedPart(file_id, row.size, part)
        write = partial(self._encrypt_and_write, self._folder, account_id, staged, data)
        await asyncio.to_thread(write)
        try:
            # If the file was deleted meanwhile, as by an erasure, `collect` can have run before.
            await self._database.read(partial(store.find, account_id, file_id))
        except FileMissing:
            await asyncio.to_thread(_remove, self._folder / account_id, {name})
            raise
        return staged

    def attach(self, account_id: str, part: StagedPart, tx: Transaction) -> None:
        """Makes a staged part a part of its file. Raises as `append`."""
        store.put_part(account_id, part.file_id, part.row, part.size, tx)

    async def read(
        self, account_id: str, file_id: str, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yields the bytes of a range, without `end`, in chunks of at most PART_BYTES.

        Raises FileMissing, also if the file is deleted meanwhile.
        """
        end = await self._end_of(account_id, file_id, end)
        find: Callable[[Transaction], PartRow | None]
        find = partial(store.part_at, account_id, file_id, start)
        while start < end:
            part = await self._database.read(find)
            if part is None or not part.start <= start < part.end:
                raise FileMissing
            data = await asyncio.to_thread(self._open, account_id, file_id, part)
            chunk = data[start - part.start : end - part.start]
            find = partial(store.find_part, account_id, file_id, part.part + 1)
            start += len(chunk)
            del data
            yield chunk

    async def read_in_pieces(
        self, account_id: str, file_id: str, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[bytes]:
        """Yields the bytes of a range in pieces of at most PIECE_BYTES. Raises as `read`.

        For slow consumers, of which there can be many: only MAX_OPEN_PARTS of them have more than a
        piece in memory. The others open their part again for each piece.
        """
        end, reader = await self._end_of(account_id, file_id, end), object()
        try:
            while start < end:
                if reader not in self._open_parts:
                    self._open_parts[reader] = await self._open_at(account_id, file_id, start)
                part, data = self._open_parts[reader]
                self._open_parts.move_to_end(reader)
                if len(self._open_parts) > MAX_OPEN_PARTS:
                    self._open_parts.popitem(last=False)
                first = start - part.start
                piece = data[first : min(first + PIECE_BYTES, end - part.start)]
                start += len(piece)
                del data
                if start == part.end:
                    del self._open_parts[reader]
                yield piece
        finally:
            self._open_parts.pop(reader, None)

    async def _open_at(self, account_id: str, file_id: str, at: int) -> tuple[PartRow, bytes]:
        find = partial(store.part_at, account_id, file_id, at)
        async with self._opening:
            part = await self._database.read(find)
            if part is None or not part.start <= at < part.end:
                raise FileMissing
            data = await asyncio.to_thread(self._open, account_id, file_id, part)
            return part._replace(content=None), data

    async def _end_of(self, account_id: str, file_id: str, end: int | None) -> int:
        row = await self._database.read(partial(store.find, account_id, file_id))
        return row.size if end is None else min(end, row.size)

    async def sha256(self, account_id: str, file_id: str) -> Sha256:
        """Returns the SHA-256 of a file as it is. Reads what was appended since the last call."""
        size, digest = self._hashes.pop((account_id, file_id), (0, hashlib.sha256()))
        async for chunk in self.read(account_id, file_id, size):
            await asyncio.to_thread(digest.update, chunk)
            size += len(chunk)
        self._hashes[account_id, file_id] = size, digest
        if len(self._hashes) > MAX_HASHES:
            self._hashes.popitem(last=False)
        return Sha256(digest.copy())

    async def collect(self, account_id: str) -> int:
        """Removes the files on disk without a part, of an account. Returns their number.

        Called after a transaction that deleted files. A file of the account whose bytes are not on
        disk, as after the restore of a backup, is deleted.
        """
        if self._folder is None:
            return 0
        folder = self._folder / account_id
        # In this order: a name on disk is staged, or has its row already, or no part.
        on_disk = await asyncio.to_thread(_names_in, folder)
        staged = dict(self._staged)
        rows = await self._database.read(partial(store.names, account_id))
        files = await self._database.read(partial(store.every, account_id))
        stored = {name for _, name in rows}
        removed = {name for name in on_disk - stored if name.removesuffix(_TEMPORARY) not in staged}
        # A part of a deleted file is never attached. One under its temporary name is still written.
        removed |= on_disk & {name for name, part in staged.items() if part.file_id not in files}
        await asyncio.to_thread(_remove, folder, removed)
        lost = {
            file_id
            for file_id, name in rows
            if name not in on_disk and not (folder / name).exists()
        }
        for file_id in lost:
            await self._database.write(partial(store.delete, account_id, file_id))
        return len(removed) + len(lost)

    async def collect_all(self) -> int:
        """Runs `collect` for all accounts with files on disk. A periodic task."""
        if self._folder is None:
            return 0
        count = 0
        for account_id in sorted(await asyncio.to_thread(_names_in, self._folder)):
            caller.enter_account(account_id)
            count += await self.collect(account_id)
        return count

    def _encrypt(self, account_id: str, file_id: str, part: PartRow, data: bytes) -> bytes:
        return self._encryption.encrypt(_PURPOSE, data, account_id, file_id, str(part.part))

    def _encrypt_and_write(
        self, root: Path, account_id: str, part: StagedPart, data: bytes
    ) -> None:
        content = self._encrypt(account_id, part.file_id, part.row, data)
        try:
            _write(root / account_id, part.row.name, content)
        except OSError as error:
            if error.errno in _NO_SPACE:
                raise InsufficientStorage from error
            raise

    def _open(self, account_id: str, file_id: str, part: PartRow) -> bytes:
        """Returns the plain bytes of a part. Raises FileMissing."""
        content = part.content
        try:
            if part.name and self._folder is not None:
                content = (self._folder / account_id / part.name).read_bytes()
            if content is None:
                raise FileMissing
            context = (account_id, file_id, str(part.part))
            data = self._encryption.open(_PURPOSE, bytes(content), *context)
        except (FileNotFoundError, DecryptionError) as error:
            raise FileMissing from error
        if len(data) != part.size:
            raise FileMissing
        return data


@contextmanager
def reports_full_disk() -> Iterator[None]:
    """Raises InsufficientStorage if a transaction in the block finds that the disk is full.

    Other transactions report a full disk as Unavailable.
    """
    try:
        yield
    except DatabaseFull as error:
        raise InsufficientStorage from error


def _end(account_id: str, file_id: str, tx: Transaction) -> tuple[FileRow, PartRow | None]:
    row = store.find(account_id, file_id, tx)
    return row, store.part_at(account_id, file_id, row.size, tx)


_TEMPORARY = ".tmp"


def _write(folder: Path, name: str, content: bytes) -> None:
    for each in (folder.parent.parent, folder.parent, folder):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
            _sync(each.parent)
    temporary = folder / f"{name}{_TEMPORARY}"
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(folder / name)
        _sync(folder)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _names_in(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))
    except FileNotFoundError:
        return set()


def _remove(folder: Path, names: set[str]) -> None:
    for name in names:
        (folder / name).unlink(missing_ok=True)
