"""The share of the database's writer that sign-ups with a public key take."""

from __future__ import annotations

import asyncio

import pytest

from rosterd.server.features.signups.budget import BURST_SECONDS, SHARE, WriterBudget
from rosterd.server.rpc.errors import TooManySignups
from rosterd.server.storage.executor.batch_executor import BatchExecutor
from rosterd.server.storage.executor.work_time import current, measured


class Clock:
    """A clock that a test moves."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def sign_up(budget: WriterBudget, key: str, seconds: float) -> bool:
    """Returns whether a sign-up that takes this time of the writer is accepted."""
    try:
        with budget.spend(key):
            work_time = current.get()
            assert work_time is not None
            work_time.seconds += seconds
    except TooManySignups:
        return False
    return True


def test_sign_ups_of_a_key_take_at_most_a_tenth_of_the_writer() -> None:
    clock = Clock()
    budget, seconds, minutes = WriterBudget(clock), 0.002, 5
    accepted = 0
    for _ in range(minutes * 60 * 200):
        accepted += sign_up(budget, "flood", seconds)
        clock.now += 1 / 200

    used = accepted * seconds
    assert 0.9 * SHARE <= used / (minutes * 60) <= SHARE + BURST_SECONDS / (minutes * 60) + 0.001
    assert sign_up(budget, "other", seconds)


def test_client_that_waits_as_long_as_the_error_states_is_accepted() -> None:
    clock = Clock()
    budget = WriterBudget(clock)
    while sign_up(budget, "flood", 0.005):
        pass
    with pytest.raises(TooManySignups) as raised, budget.spend("flood"):
        pass

    clock.now += raised.value.retry_after or 0

    assert sign_up(budget, "flood", 0.005)


def test_work_is_measured_as_an_equal_share_of_the_time_of_its_batch() -> None:
    async def main() -> tuple[float, float]:
        executor: BatchExecutor[str] = BatchExecutor(
            "test", start=lambda: None, run_batch=run_batch, stop=lambda: None
        )
        await executor.open()

        async def run() -> float:
            with measured() as work_time:
                await executor.run("work")
            return work_time.seconds

        first, second = await asyncio.gather(run(), run())
        await executor.close()
        return first + second, executor.stats.busy_seconds

    def run_batch(items: object) -> None:
        del items

    shares, busy = asyncio.run(main())
    assert shares == pytest.approx(busy)
