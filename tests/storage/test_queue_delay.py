"""The estimated queue delay."""

from __future__ import annotations

import pytest

from rosterd.server.storage.executor import queue_delay
from rosterd.server.storage.executor.queue_delay import QueueDelay


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(queue_delay, "time", clock)
    return clock


def batch(delay: QueueDelay, clock: Clock, items: int, seconds: float) -> None:
    dequeued = delay.dequeued()
    clock.now += seconds
    delay.done(items, dequeued)
    delay.dequeued()


def test_wait_is_the_queue_length_times_the_recent_time_per_item(clock: Clock) -> None:
    delay = QueueDelay(1)
    for _ in range(20):
        batch(delay, clock, 100, 0.2)

    assert delay.wait(500) == pytest.approx(1.0, rel=0.01)
    assert delay.wait(0) == 0


def test_large_batch_outweighs_the_small_batches_before_it(clock: Clock) -> None:
    delay = QueueDelay(1)
    for _ in range(500):
        batch(delay, clock, 1, 0.01)
    assert delay.wait(500) == pytest.approx(5.0, rel=0.01)

    batch(delay, clock, 256, 0.05)

    assert delay.wait(500) < 1.2


def test_wait_of_a_blocked_queue_is_at_least_the_time_since_the_last_dequeue(clock: Clock) -> None:
    delay = QueueDelay(1)
    batch(delay, clock, 1, 0.001)
    clock.now += 60
    delay.enqueued(0)
    assert delay.wait(1) < 0.1

    clock.now += 3
    delay.enqueued(1)
    assert delay.wait(2) == 3.0

    delay.dequeued()
    assert delay.wait(2) < 0.1
