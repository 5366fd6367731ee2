"""The runner of operations: turns of accounts, and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rosterd.server.features.operations import runner, store, store_lists
from rosterd.server.features.operations.rules import BatchRequest, State
from rosterd.server.features.operations.runner import OperationRunner
from rosterd.server.features.operations.store_steps import Selection, StepOutcome, Steps
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.rpc.errors import StatementTimeout
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction

from ..processes import PATIENCE
from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, THEIRS, new

MESSAGE = {"action": {"addTags": ["vip"]}, "filter": "email:*"}
TAG = BatchRequest(MESSAGE, ["email:*"], by_admin=False)


class RecordedSteps(Steps):
    """Records the account of each step, and the sizes of those of the first account.

    The first `failing` steps fail. Before step `canceled_at`, its operation is canceled.
    """

    def __init__(self, failing: int = 0, canceled_at: int = 0) -> None:
        super().__init__(SUPPRESSIONS, ReplayStore())
        self.accounts: list[str] = []
        self.sizes: list[int] = []
        self.failing = failing
        self.canceled_at = canceled_at

    def run(
        self, account_id: str, selection: Selection, runner: str, tx: Transaction
    ) -> StepOutcome:
        self.accounts.append(account_id)
        if account_id == OURS:
            self.sizes.append(len(selection.ids))
        if self.failing:
            self.failing -= 1
            raise ArithmeticError
        if len(self.accounts) == self.canceled_at:
            store.cancel(account_id, selection.operation_id, tx)
        return super().run(account_id, selection, runner, tx)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[SqliteDatabase]:
    """A database in which the first account has 50 subscribers, and the other has one."""
    database = SqliteDatabase(folder / "roster.db")
    await database.open()
    try:
        for account, count in ((OURS, 50), (THEIRS, 1)):
            rows = {number: new(str(number)) for number in range(count)}
            await database.write(partial(SUBSCRIBERS.create_many, account, rows))
            await database.write(partial(store.create, account, TAG, None, count))
        yield database
    finally:
        await database.close()


async def until_ended(database: SqliteDatabase, account: str) -> store.OperationRow:
    while await database.read(partial(store.running, account)):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    (row,), _, _ = await database.read(partial(store_lists.page, account, Page(1, 1)))
    return row


async def test_accounts_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "FIRST_STEP", 5)
    monkeypatch.setattr(runner, "MAX_STEP", 5)
    monkeypatch.setattr(runner, "EMBEDDED_STEP", 5)
    steps = RecordedSteps()

    async with opened(tmp_path) as database:
        operations = OperationRunner(database, steps)
        operations.notify([OURS, THEIRS])
        async with operations.running():
            await until_ended(database, THEIRS)
            row = await until_ended(database, OURS)
        assert (row.state, row.processed) == (State.SUCCEEDED, 50)
        assert operations.processed == 51

    assert steps.accounts == [OURS, THEIRS, *[OURS] * 9]


async def test_metric_counts_what_a_canceled_operation_has_processed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "FIRST_STEP", 20)
    monkeypatch.setattr(runner, "MAX_STEP", 20)

    async with opened(tmp_path) as database:
        (other,) = await database.read(partial(store.running, THEIRS))
        await database.write(partial(store.cancel, THEIRS, other.id))
        operations = OperationRunner(database, RecordedSteps(canceled_at=2), poll_seconds=60.0)
        operations.notify([OURS])
        async with operations.running():
            row = await until_ended(database, OURS)
        assert (row.state, row.processed) == (State.CANCELLED, 20)
        assert operations.processed == 20


@pytest.mark.parametrize(
    ("calls", "delay", "others_serve", "factor"),
    [
        (0, 0.0, False, 0.0),
        (0, 0.1, False, 0.0),
        (runner.BUSY_TRANSACTIONS, 0.0, False, runner.MIN_PAUSE_FACTOR),
        (runner.BUSY_TRANSACTIONS, 0.001, False, runner.MIN_PAUSE_FACTOR + 1),
        (runner.BUSY_TRANSACTIONS, 0.1, False, runner.MAX_PAUSE_FACTOR),
        (0, 0.0, True, runner.MAX_PAUSE_FACTOR),
    ],
)
async def test_pauses_are_longer_the_later_the_event_loop_resumes_the_runner(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    calls: int,
    delay: float,
    others_serve: bool,
    factor: float,
) -> None:
    now, pauses = 1.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds + delay
        pauses.append(seconds)
        for _ in range(calls):
            await database.read(partial(store.running, THEIRS))

    async with opened(tmp_path) as database:
        steps = Steps(SUPPRESSIONS, ReplayStore())
        operations = OperationRunner(database, steps, others_serve=others_serve)
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "sleep", sleep)
            patched.setattr(runner, "time", SimpleNamespace(monotonic=lambda: now))
            for _ in range(100):
                await operations._pause(0.01)

    assert pauses[-1] == pytest.approx(factor * 0.01, rel=0.01)


@pytest.mark.parametrize(("has_calls", "sizes"), [(False, [5, 10, 20, 15]), (True, [5, 10, 2, 2])])
async def test_steps_are_shorter_while_calls_use_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_calls: bool, sizes: list[int]
) -> None:
    monkeypatch.setattr(runner, "FIRST_STEP", 5)
    monkeypatch.setattr(runner, "EMBEDDED_STEP", 2)
    monkeypatch.setattr(runner, "BUSY_SECONDS", 60.0)
    monkeypatch.setattr(runner, "STEP_SECONDS", 60.0)
    monkeypatch.setattr(runner, "EMBEDDED_STEP_SECONDS", 0.0)
    steps, sleep = RecordedSteps(), asyncio.sleep

    async with opened(tmp_path) as database:

        async def recorded(seconds: float) -> None:
            if seconds != runner.POLL_SECONDS and has_calls:
                for _ in range(runner.BUSY_TRANSACTIONS):
                    await database.read(partial(store.running, THEIRS))
            await sleep(seconds)

        operations = OperationRunner(database, steps)
        operations.notify([OURS])
        monkeypatch.setattr(asyncio, "sleep", recorded)
        async with operations.running():
            while operations.processed < 50:
                await sleep(0.001)

    assert steps.sizes[:4] == sizes


async def test_a_failed_step_is_repeated(tmp_path: Path) -> None:
    steps = RecordedSteps(failing=2)

    async with opened(tmp_path) as database:
        async with OperationRunner(database, steps, poll_seconds=0.01).running():
            row = await until_ended(database, OURS)
        assert (row.state, row.processed) == (State.SUCCEEDED, 50)


async def test_operations_that_wait_do_not_keep_those_of_other_accounts_from_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "POLL_LIMIT", 1)
    waiting, running = sorted([OURS, THEIRS])

    class Waiting(RecordedSteps):
        def select_next(self, account_id: str, *others: Any) -> Selection | None:
            return None if account_id == waiting else super().select_next(account_id, *others)

    async with opened(tmp_path) as database:
        async with OperationRunner(database, Waiting(), poll_seconds=0.01).running():
            async with asyncio.timeout(PATIENCE):
                row = await until_ended(database, running)
        assert row.state == State.SUCCEEDED


async def test_a_new_runner_continues_at_once_after_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The lock on the file excludes other processes, so that a lease means nothing.
    monkeypatch.setattr(
        "rosterd.server.features.operations.store_steps.LEASE_MILLISECONDS", 3_600_000
    )
    monkeypatch.setattr(runner, "FIRST_STEP", 5)
    monkeypatch.setattr(runner, "MAX_STEP", 5)
    monkeypatch.setattr(runner, "EMBEDDED_STEP", 5)
    steps = RecordedSteps()

    async with opened(tmp_path) as database:
        first = OperationRunner(database, steps)
        async with first.running():
            while len(steps.accounts) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
        assert 0 < first.processed < 51
        async with asyncio.timeout(PATIENCE), OperationRunner(database, steps).running():
            row = await until_ended(database, OURS)
            await until_ended(database, THEIRS)
        assert (row.state, row.processed) == (State.SUCCEEDED, 50)


@pytest.mark.parametrize(("seconds", "expected"), [(60.0, [10] * 6), (-1.0, [10, 40, 160])])
async def test_more_subscribers_are_selected_after_a_slow_selection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, expected: list[int]
) -> None:
    limits: list[int] = []

    class LimitedSteps(Steps):
        def select_next(
            self, account_id: str, runner: str, limit: int, tx: Transaction, span: int | None = None
        ) -> Selection | None:
            if account_id == OURS:
                limits.append(limit)
            return super().select_next(account_id, runner, limit, tx, span)

    steps = LimitedSteps(SUPPRESSIONS, ReplayStore())
    monkeypatch.setattr(runner, "FIRST_SELECTED", 10)
    monkeypatch.setattr(runner, "SLOW_SELECT_SECONDS", seconds)
    monkeypatch.setattr(runner, "MAX_SELECTED", 160)
    monkeypatch.setattr(runner, "MAX_STEP", 10)

    async with opened(tmp_path) as database:
        operations = OperationRunner(database, steps, poll_seconds=60.0)
        operations.notify([OURS])
        async with operations.running():
            await until_ended(database, OURS)

    assert limits[: len(expected)] == expected


@pytest.mark.parametrize(
    ("text", "longest", "state", "processed"),
    [
        ("email:*", 12, State.SUCCEEDED, 50),
        ('email = "49@example.com"', 12, State.SUCCEEDED, 1),
        ("email:*", 0, State.FAILED, 0),
    ],
)
async def test_a_selection_that_times_out_continues_among_fewer_subscribers_or_ends_the_operation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    longest: int,
    state: State,
    processed: int,
) -> None:
    class SlowSteps(Steps):
        def select_next(
            self, account_id: str, runner: str, limit: int, tx: Transaction, span: int | None = None
        ) -> Selection | None:
            if account_id == OURS and (span is None or span > longest):
                raise StatementTimeout
            return super().select_next(account_id, runner, limit, tx, span)

    steps = SlowSteps(SUPPRESSIONS, ReplayStore())
    monkeypatch.setattr(runner, "FIRST_SPAN", 40)
    monkeypatch.setattr(runner, "MIN_SPAN", 10)
    batch = TAG._replace(texts=[text])

    async with opened(tmp_path) as database:
        (first,) = await database.read(partial(store.running, OURS))
        await database.write(partial(store.cancel, OURS, first.id))
        await database.write(partial(store.create, OURS, batch, None, 50))
        operations = OperationRunner(database, steps, poll_seconds=0.01)
        async with asyncio.timeout(PATIENCE), operations.running():
            row = await until_ended(database, OURS)
    assert (row.state, row.processed) == (state, processed)
    late = {"reason": "DEADLINE_EXCEEDED", "total": 50, "examples": []}
    assert row.failures.as_json() == ([late] if state is State.FAILED else [])
