"""Jobs of other features: their steps, their failures, and programs that cannot run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from rosterd.server.features.operations import store, store_lists
from rosterd.server.features.operations.rules import BatchRequest, JobRequest, State, Type
from rosterd.server.features.operations.runner import OperationRunner
from rosterd.server.features.operations.store import OperationRow
from rosterd.server.features.operations.store_jobs import JobStep, Pause
from rosterd.server.features.operations.store_steps import StepResult, Steps
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.rpc.errors import FileQuotaExceeded, InsufficientStorage
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, new

TOTAL = 5


def request(kind: int = Type.SUBSCRIBERS_EXPORT) -> JobRequest:
    message = {"action": {}, "filter": 'tags:"news"'}
    return JobRequest(kind, {"of": "the test"}, {}, message, ['tags:"news"'], by_admin=False)


class Counting:
    """A job of TOTAL steps; the n-th attempt raises the n-th of `errors`."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.committed: list[int] = []
        self.waits = False

    def is_waiting(self, _account_id: str, _row: OperationRow, _tx: Transaction) -> bool:
        return self.waits

    async def prepare(self, _account_id: str, row: OperationRow, pause: Pause) -> JobStep:
        await pause(0.0)
        if self.errors:
            raise self.errors.pop(0)

        def commit(current: OperationRow, _tx: Transaction) -> OperationRow:
            self.committed.append(row.processed)
            return current._replace(processed=row.processed + 1, after_id=str(row.processed))

        return JobStep(commit, is_last=row.processed + 1 == TOTAL)


def steps_of(job: Any) -> Steps:
    return Steps(SUPPRESSIONS, ReplayStore(), {Type.SUBSCRIBERS_EXPORT: job})


def run(folder: Path, job: Counting, before: Callable[[Transaction], Any] = str) -> OperationRow:
    """Runs a job to its end, and returns its operation."""

    async def body() -> OperationRow:
        database = SqliteDatabase(folder / "roster.db")
        await database.open()
        try:
            await database.write(before)
            await database.write(partial(store.create_job, OURS, request(), TOTAL))
            operations = OperationRunner(database, steps_of(job), poll_seconds=0.01)
            async with operations.running(), asyncio.timeout(60):
                while await database.read(partial(store.running, OURS)):  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            (row,), _, _ = await database.read(partial(store_lists.page, OURS, Page(1, 1)))
            return row
        finally:
            await database.close()

    return asyncio.run(body())


@pytest.mark.parametrize("error", [InsufficientStorage(), ArithmeticError()], ids=repr)
def test_a_step_with_a_temporary_error_is_repeated(tmp_path: Path, error: Exception) -> None:
    job = Counting(error, error)
    row = run(tmp_path, job)
    assert (row.state, job.committed) == (State.SUCCEEDED, list(range(TOTAL)))


def test_a_job_that_cannot_continue_fails_with_the_reason(tmp_path: Path) -> None:
    row = run(tmp_path, Counting(FileQuotaExceeded(limit=1)))
    assert row.state == State.FAILED
    assert row.as_json()["failed"] == [
        {"reason": "INSUFFICIENT_STORAGE", "total": TOTAL, "examples": []}
    ]


def test_an_error_of_the_commit_rolls_the_step_back(tmp_path: Path) -> None:
    class Failing(Counting):
        async def prepare(self, account_id: str, row: OperationRow, pause: Pause) -> JobStep:
            step = await super().prepare(account_id, row, pause)

            def commit(current: OperationRow, tx: Transaction) -> OperationRow:
                SUBSCRIBERS.create(OURS, new("ada"), tx)
                if row.processed == 0 and len(self.committed) < 1:
                    self.committed.append(-1)
                    raise FileQuotaExceeded(limit=1)
                return step.commit(current, tx)

            return step._replace(commit=commit)

    assert run(tmp_path, Failing()).state == State.FAILED
    database = SqliteDatabase(tmp_path / "roster.db")

    async def count() -> int:
        await database.open()
        result = await database.read(_count_subscribers)
        await database.close()
        return result

    assert asyncio.run(count()) == 0


def _count_subscribers(tx: Transaction) -> int:
    return int(tx.raw().execute_sql("SELECT COUNT(*) FROM subscriber").fetchone()[0])


def test_a_step_that_another_process_has_taken_further_is_not_committed(tx: Transaction) -> None:
    job = Counting()
    steps = steps_of(job)
    row = store.create_job(OURS, request(), TOTAL, tx)

    async def no_pause(_: float) -> None:
        pass

    first, second = (asyncio.run(steps.prepare(OURS, row, no_pause)) for _ in range(2))
    assert steps.commit(OURS, row, first, "", tx).result is StepResult.CONTINUES
    assert steps.commit(OURS, row, second, "", tx).processed == 0
    assert job.committed == [0]
    store.cancel(OURS, row.id, tx)
    third = asyncio.run(steps.prepare(OURS, row, no_pause))
    assert steps.commit(OURS, row, third, "", tx).result is StepResult.ENDED
    assert job.committed == [0]


def test_a_waiting_job_and_one_of_a_later_version_do_not_delay_others(tx: Transaction) -> None:
    job = Counting()
    job.waits = True
    steps = steps_of(job)
    store.create_job(OURS, request(), TOTAL, tx)
    store.create_job(OURS, request(99), TOTAL, tx)
    assert steps.select_next(OURS, "", 10, tx) is None
    job.waits = False
    selection = steps.select_next(OURS, "", 10, tx)
    assert selection is not None
    assert selection.job is not None
    rows, _, _ = store_lists.page(OURS, Page(1, 10), tx)
    assert [row.as_json()["type"] for row in rows] == ["TYPE_UNSPECIFIED", "SUBSCRIBERS_EXPORT"]


def test_programs_of_the_previous_release_neither_run_nor_misread_a_job(tx: Transaction) -> None:
    """They run what is RUNNING, and read each request as one of a batch or a replay."""
    row = store.create_job(OURS, request(), TOTAL, tx)
    stored = store.find(OURS, row.id, tx)
    sql = "SELECT COUNT(*) FROM operation WHERE state = 1"
    assert tx.raw().execute_sql(sql).fetchone()[0] == 0
    assert stored.as_json()["state"] == "RUNNING"
    # As `stored_request` and `as_json` of that release.
    fields = orjson.loads(stored.request)
    batch = BatchRequest(**{name: fields[name] for name in BatchRequest._fields if name in fields})
    assert (batch.filter, batch.message["action"], State(stored.state)) == (
        'tags:"news"',
        {},
        State.CANCELLED,
    )
    # It is not purged as an ended one.
    assert stored.ended_at is None
    assert store.ids_of_any_account_with_running("", 10, tx) == [OURS]


def test_a_cancelled_job_ends(tx: Transaction) -> None:
    row = store.create_job(OURS, request(), TOTAL, tx)
    assert store.cancel(OURS, row.id, tx).as_json()["state"] == "CANCELLED"
    assert store.running(OURS, tx) == []
    assert store.ids_of_any_account_with_running("", 10, tx) == []
