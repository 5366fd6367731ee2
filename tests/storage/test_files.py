"""Large files of accounts: parts, ranges, and what is left after a failure at any point."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.files import store, store_content
from rosterd.server.features.files.store import FileMissing, WrongOffset
from rosterd.server.features.files.store_content import (
    MAX_OPEN_PARTS,
    PART_BYTES,
    PIECE_BYTES,
    Files,
    reports_full_disk,
)
from rosterd.server.maintenance.account_deletion import remove_files
from rosterd.server.rpc.errors import FileQuotaExceeded, InsufficientStorage, Unavailable
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.databases import database_at
from rosterd.server.values.database_url import parse_database_url

from .helpers import OURS, THEIRS

ENCRYPTION = Encryption(bytes(range(32)))
DAY = 24 * 3600 * 1000
Body = Callable[[Files, Any], Coroutine[Any, Any, None]]


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[tuple[Files, Any]]:
    database = database_at(parse_database_url(url), 4)
    await database.open()
    try:
        yield Files(database, ENCRYPTION), database
    finally:
        await database.close()


async def new_file(database: Any, account_id: str = OURS) -> str:
    def create(tx: Any) -> str:
        return store.create(account_id, tx.now + DAY, tx).id

    return str(await database.write(create))


async def content(files: Files, file_id: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join([chunk async for chunk in files.read(OURS, file_id, start, end)])


def folder_of(files: Files) -> Path:
    assert files._folder is not None
    return files._folder / OURS


async def test_a_file_has_the_bytes_that_were_appended_at_any_sizes(url: str) -> None:
    async with opened(url) as (files, database):
        file_id, data = await new_file(database), os.urandom(3 * PART_BYTES)
        size = 0
        for length in (1, 10, 70_000, 5, PART_BYTES, PART_BYTES - 1, 3, 900_000):
            size = await files.append(OURS, file_id, size, data[size : size + length])
        data = data[:size]
        assert await content(files, file_id) == data
        for start, end in ((0, 1), (11, 70_012), (size - 1, None), (70_000, size), (size, None)):
            assert await content(files, file_id, start, end) == data[start:end]
        assert (await files.sha256(OURS, file_id)).hex == hashlib.sha256(data).hexdigest()
        await files.append(OURS, file_id, size, b"more")
        other = Files(database, ENCRYPTION)
        digest = hashlib.sha256(data + b"more").hexdigest()
        assert (await files.sha256(OURS, file_id)).hex == digest
        assert (await other.sha256(OURS, file_id)).hex == digest


async def test_many_slow_readers_have_few_parts_in_memory(url: str) -> None:
    async def _next(readers: list[AsyncGenerator[bytes]], received: list[bytes], i: int) -> bytes:
        piece = await anext(readers[i], b"")
        received[i] += piece
        return piece

    async with opened(url) as (files, database):
        file_id, data, size = await new_file(database), os.urandom(2 * PART_BYTES + 70_000), 0
        while size < len(data):
            part = data[size : size + PART_BYTES]
            size = await files.append(OURS, file_id, size, part)
        starts = [number * 210_001 for number in range(MAX_OPEN_PARTS + 2)]
        readers = [files.read_in_pieces(OURS, file_id, start, size - 1) for start in starts]
        received = [b""] * len(readers)
        while any([await _next(readers, received, number) for number in range(len(readers))]):
            assert len(files._open_parts) <= MAX_OPEN_PARTS
        assert received == [data[start:-1] for start in starts]
        assert not files._open_parts
        unfinished = files.read_in_pieces(OURS, file_id)
        assert await anext(unfinished) == data[:PIECE_BYTES]
        await unfinished.aclose()
        assert not files._open_parts


async def test_small_appends_share_a_part(url: str) -> None:
    async with opened(url) as (files, database):
        file_id = await new_file(database)
        for offset in range(50):
            await files.append(OURS, file_id, offset, b"x")
        assert len(await database.read(partial(store.names, OURS))) == 1
        assert await content(files, file_id) == b"x" * 50


async def test_an_append_at_another_offset_changes_nothing(url: str) -> None:
    async with opened(url) as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"first")
        for offset in (0, 4, 6):
            with pytest.raises(WrongOffset) as raised:
                await files.append(OURS, file_id, offset, b"again")
            assert raised.value.size == len(b"first")
        results = await asyncio.gather(
            *(files.append(OURS, file_id, 5, text) for text in (b"one", b"two")),
            return_exceptions=True,
        )
        assert sorted(map(type, results), key=str) == sorted([WrongOffset, int], key=str)
        assert await content(files, file_id) in (b"firstone", b"firsttwo")


async def test_parts_are_encrypted_and_cannot_be_exchanged(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        file_id = await new_file(database)
        for number in range(2):
            await files.append(OURS, file_id, number * PART_BYTES, b"secret!!" * 131_072)
        first, second = sorted(folder_of(files).iterdir())
        assert b"secret" not in first.read_bytes()
        assert first.stat().st_mode & 0o777 == 0o600
        assert first.parent.stat().st_mode & 0o777 == 0o700
        texts = first.read_bytes(), second.read_bytes()
        second.write_bytes(texts[0])
        first.write_bytes(texts[1])
        with pytest.raises(FileMissing):
            await content(files, file_id)


async def test_files_belong_to_their_account(url: str) -> None:
    async with opened(url) as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"ours")
        with pytest.raises(FileMissing):
            _ = [chunk async for chunk in files.read(THEIRS, file_id)]
        with pytest.raises(FileMissing):
            await files.append(THEIRS, file_id, 4, b"theirs")


async def test_deleted_and_expired_files_leave_no_bytes(url: str) -> None:
    async with opened(url) as (files, database):
        kept, deleted, expired = [await new_file(database) for _ in range(3)]
        for file_id in (kept, deleted, expired):
            await files.append(OURS, file_id, 0, b"bytes")
        await database.write(partial(store.delete, OURS, deleted))
        await database.write(partial(store.set_expiry, OURS, expired, 1))
        for file_id in (deleted, expired):
            with pytest.raises(FileMissing):
                await content(files, file_id)
        assert await database.read(partial(store.has_expired, OURS))
        assert await database.write(partial(store.purge, OURS)) == 1
        assert await database.write(partial(store.purge, OURS)) == 0
        await files.collect_all()
        assert {id_ for id_, _ in await database.read(partial(store.names, OURS))} == {kept}
        assert await content(files, kept) == b"bytes"
        if files._folder is not None:
            (file,) = folder_of(files).iterdir()
            assert file.name.startswith(kept)


async def test_a_kill_before_the_row_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"first")
        staged = await files.stage(OURS, file_id, 5, b"second")
        assert len(list(folder_of(files).iterdir())) == 2
        # A part that waits for its transaction is not removed.
        assert await files.collect_all() == 0
        assert await content(files, file_id) == b"first"
        del staged
        monkeypatch.setattr(Path, "rename", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await files.append(OURS, file_id, 5, b"third")
        monkeypatch.undo()
    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        assert await content(files, file_id) == b"first"
        assert await files.collect_all() == 2
        assert len(list(folder_of(files).iterdir())) == 1
        assert await files.append(OURS, file_id, 5, b" again") == 11


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_part_of_a_file_that_is_deleted_leaves_no_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """As of an export that writes while a person is erased, before and after `collect` lists it."""

    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        file_id = await new_file(database)
        write, delete = store_content._write, partial(store.delete, OURS, file_id)
        loop = asyncio.get_running_loop()

        async def delete_and_collect() -> None:
            await database.write(delete)
            await files.collect(OURS)

        def write_late(*arguments: Any) -> None:
            asyncio.run_coroutine_threadsafe(delete_and_collect(), loop).result()
            write(*arguments)

        if is_written:
            staged = await files.stage(OURS, file_id, 0, b"person")
            await delete_and_collect()
            with pytest.raises(FileMissing):
                await database.write(partial(files.attach, OURS, staged))
        else:
            monkeypatch.setattr(store_content, "_write", write_late)
            with pytest.raises(FileMissing):
                await files.stage(OURS, file_id, 0, b"person")
        assert list(folder_of(files).iterdir()) == []


async def test_a_full_disk_is_reported_and_the_file_can_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"first")

        def fail(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(InsufficientStorage):
            await files.append(OURS, file_id, 5, b"second")
        monkeypatch.undo()
        assert len(list(folder_of(files).iterdir())) == 1
        assert await files.append(OURS, file_id, 5, b"second") == 11
        assert await content(files, file_id) == b"firstsecond"


# Makes the database as full as it can be without filling a disk.
FILL_SQLITE = ("PRAGMA max_page_count = 1", "CREATE TABLE filler AS SELECT zeroblob(1000000)")
FILL_POSTGRES = (
    "CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$",
    "CREATE TRIGGER full_disk BEFORE INSERT ON file_part EXECUTE FUNCTION no_space()",
)


async def test_a_full_disk_of_the_database_is_reported_alike(url: str) -> None:
    def execute(sql: str, tx: Any) -> None:
        tx.raw().execute_sql(sql)

    async with opened(url) as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"first")
        if url.startswith("sqlite"):
            limit, fill = FILL_SQLITE
            await database.write(partial(execute, limit))
            with pytest.raises(InsufficientStorage) as failed, reports_full_disk():
                await database.write(partial(execute, fill))
            await database.write(partial(execute, "PRAGMA max_page_count = 1000000"))
        else:
            for sql in FILL_POSTGRES:
                await database.write(partial(execute, sql))
            with pytest.raises(InsufficientStorage) as failed:
                await files.append(OURS, file_id, 5, b"second")
            await database.write(partial(execute, "DROP TRIGGER full_disk ON file_part"))
        # Calls without files return it as Unavailable.
        assert isinstance(failed.value.__cause__, Unavailable)
        assert await files.append(OURS, file_id, 5, b"second") == 11
        assert await content(files, file_id) == b"firstsecond"


async def test_an_account_has_a_quota_for_all_its_files(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_BYTES", 10)

    async with opened(url) as (files, database):
        one, other = await new_file(database), await new_file(database)
        await files.append(OURS, one, 0, b"123456")
        with pytest.raises(FileQuotaExceeded):
            await files.append(OURS, other, 0, b"12345")
        assert await files.append(OURS, other, 0, b"1234") == 4
        await database.write(partial(store.delete, OURS, one))
        assert await files.append(OURS, other, 4, b"123456") == 10


async def test_a_file_whose_bytes_were_not_restored_is_deleted(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/roster.db") as (files, database):
        file_id = await new_file(database)
        await files.append(OURS, file_id, 0, b"bytes")
        for each in folder_of(files).iterdir():
            each.unlink()
        with pytest.raises(FileMissing):
            await content(files, file_id)
        await files.collect_all()
        assert await database.read(partial(store.names, OURS)) == set()


async def test_the_deletion_of_an_account_removes_its_bytes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/roster.db"
    async with opened(url) as (files, database):
        await files.append(OURS, await new_file(database), 0, b"bytes")
        remove_files(url, OURS)
        assert not folder_of(files).exists()


async def test_a_hash_is_kept_for_the_last_files_only(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_content, "MAX_HASHES", 1)

    async with opened(url) as (files, database):
        ids = [await new_file(database) for _ in range(2)]
        for file_id in ids:
            await files.append(OURS, file_id, 0, file_id.encode())
        for file_id in [*ids, *ids]:
            digest = hashlib.sha256(file_id.encode()).hexdigest()
            assert (await files.sha256(OURS, file_id)).hex == digest
