"""Writes the files of exports, in steps of at most one part of a file.

A step reads the next subscribers in batches and formats them in the thread that reads, then writes
a part of the file while the first batch of the next step is read. Its transaction stores the part
together with the last subscriber in it, so an interrupted export continues with the next one.
"""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import orjson

from ...rpc.errors import ExportNotFound
from ...storage.database import Database
from ...storage.transaction import Transaction
from ..files.store import FileMissing, FileRow
from ..files.store import find as find_file
from ..files.store_content import PART_BYTES, Files, StagedPart
from ..operations.rules import JobRequest
from ..operations.store import OperationRow
from ..operations.store_jobs import JobStep, Pause
from ..operations.store_steps import end_id_of, stored_at_start, tree_of
from ..subscribers.csv_format import column_cells
from ..subscribers.fields import SubscriberRow
from ..subscribers.query.plan import PagePosition
from ..subscribers.query.store_pages import page_without_total
from ..subscribers.query.tree import within
from ..subscribers.store_reading import find_each
from . import store
from .columns import Record, from_stored

# Subscribers that are read at once, at most and at least. Other reads wait for them.
BATCH, MIN_BATCH = 500, 10
# The exports whose next subscribers are in memory.
MAX_AHEAD = 16
# The share of a read for which the runner makes its pause. Small, because a read occupies neither
# the writer nor the other readers, and a stream of the same subscribers makes no pause.
PAUSE_SHARE = 0.1
CSV, FULL = "CSV", "FULL"


class _Batch(NamedTuple):
    """Formatted subscribers after the ID `after`, and whether others follow.

    `ends` are the number of bytes up to the end of each, by ID. `last` is the last ID that was
    read. `seconds` is the duration of the read.
    """

    after: str
    data: bytes
    ends: dict[str, int]
    last: str
    is_last: bool
    seconds: float


class ExportJob:
    """The job of exports; see `Job`."""

    def __init__(self, database: Database, files: Files) -> None:
        self._database = database
        self._files = files
        # By account and operation.
        self._ahead: dict[tuple[str, str], _Batch] = {}

    def is_waiting(self, _account_id: str, _row: OperationRow, _tx: Transaction) -> bool:
        return False

    async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        try:
            return await self._prepare(account_id, row, pause)
        except FileMissing:
            raise ExportNotFound from None
        except ExceptionGroup as group:
            error = group.exceptions[0]
            raise (ExportNotFound() if isinstance(error, FileMissing) else error) from None

    async def _prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        export = await self._database.read(partial(store.find_row, account_id, row.id))
        file = await self._database.read(partial(find_file, account_id, export.file_id))
        key, limit = (account_id, row.id), BATCH
        data = bytearray(_start(row) if not row.after_id and not file.size else b"")
        after, count, is_last = row.after_id, 0, False
        batch = self._ahead.pop(key, None)
        while not is_last:
            if batch is None or batch.after != after:
                batch = await self._read(account_id, row, after, limit)
                await pause(PAUSE_SHARE * batch.seconds)
            fits = len(data) + len(batch.data) <= PART_BYTES
            chosen = batch if fits else _cut(batch, PART_BYTES - len(data))
            data += chosen.data
            after, count = chosen.last or after, count + len(chosen.ends)
            is_last = fits and batch.is_last
            if not fits:
                limit = max(MIN_BATCH, min(BATCH, 2 * len(chosen.ends)))
                break
            batch = None
        # All of it ends before the next pause, which would mistake it for the calls of others.
        async with asyncio.TaskGroup() as tasks:
            hashed = tasks.create_task(self._files.sha256(account_id, file.id))
            staged = tasks.create_task(self._stage(account_id, file, bytes(data)))
            if not is_last:
                ahead = tasks.create_task(self._read(account_id, row, after, limit))
        part = staged.result()
        if not is_last:
            self._keep(key, ahead.result())
            await pause(PAUSE_SHARE * ahead.result().seconds)
        sha256 = hashed.result().with_more(bytes(data)) if is_last else ""

        def commit(current: OperationRow, tx: Transaction) -> OperationRow:
            try:
                if part is not None:
                    self._files.attach(account_id, part, tx)
                current_export = store.find_row(account_id, row.id, tx)
                store.put_progress(account_id, current_export, sha256, tx)
            except FileMissing:
                raise ExportNotFound from None
            return current._replace(after_id=after, processed=current.processed + count)

        return JobStep(commit, is_last)

    async def _stage(self, account_id: str, file: FileRow, data: bytes) -> StagedPart | None:
        if not data:
            return None
        return await self._files.stage(account_id, file.id, file.size, data)

    def _keep(self, key: tuple[str, str], batch: _Batch) -> None:
        self._ahead[key] = batch
        if len(self._ahead) > MAX_AHEAD:
            del self._ahead[next(iter(self._ahead))]

    async def _read(self, account_id: str, row: OperationRow, after: str, limit: int) -> _Batch:
        return await self._database.read(partial(_formatted, account_id, row, after, limit))


def _start(row: OperationRow) -> bytes:
    """Returns the header of a CSV file; empty for NDJSON."""
    content = row.content
    assert isinstance(content, JobRequest)
    if content.job["format"] != CSV:
        return b""
    (header,) = _csv([content.job["names"]], content.job)
    return ("\ufeff" if content.job["bom"] else "").encode() + header


def _formatted(
    account_id: str, row: OperationRow, after: str, limit: int, tx: Transaction
) -> _Batch:
    """Reads and formats the next subscribers of those at the start."""
    started = time.monotonic()
    content = row.content
    assert isinstance(content, JobRequest)
    excluded = set(content.job.get("excludeIds", ()))
    if ids := content.job.get("ids"):
        ids = [each for each in ids if each > after][:limit]
        found = find_each(account_id, ids, tx)
        rows = [found[each] for each in ids if each in found]
        last, is_last = ids[-1] if ids else "", len(ids) < limit
    else:
        tree = within(tree_of(account_id, row, tx), "<", end_id_of(row))
        position = PagePosition(limit, after=after or None)
        rows = page_without_total(account_id, tree, position, tx)
        last, is_last = rows[-1].id if rows else "", len(rows) < limit
    rows = [each for each in rows if each.id not in excluded]
    at_start = set(stored_at_start(account_id, row, [each.id for each in rows], tx)) if rows else ()
    rows = [each for each in rows if each.id in at_start]
    lines = _lines(rows, content.job)
    ends, size = {}, 0
    for each, line in zip(rows, lines, strict=True):
        size += len(line)
        ends[each.id] = size
    seconds = time.monotonic() - started
    return _Batch(after, b"".join(lines), ends, last, is_last, seconds)


def _lines(rows: Sequence[SubscriberRow], job: dict[str, object]) -> list[bytes]:
    columns = from_stored(job["names"])  # type: ignore[arg-type]
    if job["format"] == CSV:
        escapes = bool(job["escapeFormulas"])
        return _csv([column_cells(row, columns, escapes_formulas=escapes) for row in rows], job)
    if job["columns"]:
        records = map(Record(columns).of, rows)
    else:
        records = map(partial(SubscriberRow.as_json, full=job["view"] == FULL), rows)
    return [orjson.dumps(each, option=orjson.OPT_APPEND_NEWLINE) for each in records]


class _Lines(list[str]):
    """The lines that a csv.writer writes."""

    write = list.append


def _csv(rows: Sequence[Sequence[str]], job: Mapping[str, object]) -> list[bytes]:
    lines = _Lines()
    # An earlier version stored none.
    delimiter = str(job.get("delimiter", ","))
    csv.writer(lines, delimiter=delimiter, lineterminator="\r\n").writerows(rows)
    return list(map(str.encode, lines))


def _cut(batch: _Batch, size: int) -> _Batch:
    """Returns the first subscribers of a batch, up to a number of bytes."""
    ends = {id_: end for id_, end in batch.ends.items() if end <= size}
    last = next(reversed(ends), "")
    data = batch.data[: ends[last]] if ends else b""
    return batch._replace(data=data, ends=ends, last=last, is_last=False)
