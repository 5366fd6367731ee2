"""How long a queue is thought to take."""

from __future__ import annotations

import pytest

from server.storage.executor import queue_delay as paces
from server.storage.executor.queue_delay import QueueDelay


class Clock:
    """A clock that tests advance."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(paces, "time", clock)
    return clock


def batch(pace: QueueDelay, clock: Clock, items: int, seconds: float) -> None:
    dequeued = pace.dequeued()
    clock.now += seconds
    pace.done(items, dequeued)
    pace.dequeued()


def test_estimate_is_zero_at_first(clock: Clock) -> None:
    assert QueueDelay(1).wait(1_000) == 0


def test_wait_is_the_queue_times_what_each_job_took_of_late(clock: Clock) -> None:
    pace = QueueDelay(1)
    for _ in range(20):
        batch(pace, clock, 100, 0.2)

    assert pace.wait(500) == pytest.approx(1.0, rel=0.01)
    assert pace.wait(0) == 0


def test_several_ends_of_a_queue_share_it(clock: Clock) -> None:
    pace = QueueDelay(4)
    for _ in range(500):
        batch(pace, clock, 1, 0.02)

    assert pace.wait(100) == pytest.approx(0.5, rel=0.01)


def test_large_batch_outweighs_the_small_batches_before_it(clock: Clock) -> None:
    pace = QueueDelay(1)
    for _ in range(500):
        batch(pace, clock, 1, 0.01)
    assert pace.wait(500) == pytest.approx(5.0, rel=0.01)

    batch(pace, clock, 256, 0.05)

    assert pace.wait(500) < 1.2


def test_a_queue_that_stands_still_takes_as_long_as_it_has_stood_at_least(clock: Clock) -> None:
    pace = QueueDelay(1)
    batch(pace, clock, 1, 0.001)
    clock.now += 60
    pace.enqueued(0)
    assert pace.wait(1) < 0.1

    clock.now += 3
    pace.enqueued(1)
    assert pace.wait(2) == 3.0

    pace.dequeued()
    assert pace.wait(2) < 0.1
