"""The limit of an account's CPU time while others call, and the delay of rejected calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from grpc import aio

from roster.v1 import subscribers_pb2 as pb
from rosterd.server.rpc.deadline import set_deadline
from rosterd.server.rpc.errors import CpuShareExceeded, RateLimited
from rosterd.server.rpc.interceptors import chain
from rosterd.server.rpc.interceptors.base import Call, Interceptor, Steps, method_of
from rosterd.server.rpc.interceptors.fair_share import (
    ACTIVE_SECONDS,
    MAX_OVERHEAD,
    SHARE,
    FairShare,
)
from rosterd.server.storage.executor.work_time import current

from ...http_gateway.serving import run
from .test_concurrency_limit import limited_service

GET = method_of("/roster.v1.SubscriberService/GetSubscriber")
COST = 0.002


class Process:
    """The clock of a process, and calls of accounts."""

    def __init__(self) -> None:
        self.began = self.now = 1_000_000.0
        self.cpu = 0.0
        self.share = FairShare(lambda: self.now, lambda: self.cpu)

    def start(self, account: str, key: str = "") -> Call | None:
        """Starts a call. Returns None if it has to wait, and is canceled."""
        call = self._call(account, key)
        pending = self.share.intercept(call)
        if pending is None:
            return call
        pending.close()  # type: ignore[attr-defined]
        return None

    def starts(self, account: str, calls: int = 1) -> int:
        """Returns how many of concurrent calls start at once."""
        return [self.start(account) is None for _ in range(calls)].count(False)

    def run(self, account: str, cost: float = 0.0, *, by_database: bool = False) -> None:
        """Runs a call after its wait."""
        call = self._call(account)
        pending = self.share.intercept(call)
        if pending is not None:
            with pytest.raises(StopIteration):
                pending.__await__().send(None)
        self.end(call, cost, by_database=by_database)

    def end(self, call: Call, cost: float, *, by_database: bool = False) -> None:
        """Ends a call that took so many seconds of CPU time."""
        work_time = current.get()
        if by_database and work_time is not None:
            work_time.cpu_seconds += cost
        elif call.steps is not None:
            call.steps.seconds += cost
        call.finish()

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _call(self, account: str, key: str = "") -> Call:
        context: Any = SimpleNamespace(invocation_metadata=lambda: ())
        call = Call(GET, None, context)
        call.account_id, call.rate_limit_key = account, key
        return call


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    process = Process()
    monkeypatch.setattr("asyncio.current_task", lambda _=None: None)
    monkeypatch.setattr("asyncio.sleep", process.sleep)
    token = current.set(None)
    yield process
    current.reset(token)


def test_account_waits_after_its_share_while_another_calls(process: Process) -> None:
    process.run("b")

    assert process.starts("a", 100) < 100
    assert process.starts("b") == 1


def test_sign_up_key_always_has_a_share_of_its_own(process: Process) -> None:
    assert [process.start("a", "key") for _ in range(100)].count(None) > 0

    assert process.starts("a", 1_000) == 1_000


@pytest.mark.parametrize("by_database", [False, True])
@pytest.mark.parametrize("costs", [[COST], [COST / 10] * 9 + [COST * 10]], ids=["equal", "mixed"])
def test_share_is_in_cpu_time(process: Process, costs: list[float], by_database: bool) -> None:
    calls = costs * (1_000 // len(costs))
    for cost in calls:
        process.run("b")
        process.run("a", cost, by_database=by_database)

    assert process.now - process.began == pytest.approx(sum(calls) / SHARE, rel=0.1)


def test_time_on_the_event_loop_apart_from_steps_counts(process: Process) -> None:
    for _ in range(1_000):
        process.run("b")
        process.cpu += 10 * MAX_OVERHEAD
        process.run("a")

    assert process.now - process.began == pytest.approx(1_000 * MAX_OVERHEAD / SHARE, rel=0.1)


def test_account_does_not_wait_after_others_have_stopped(process: Process) -> None:
    process.run("b")
    assert process.starts("a", 100) < 100

    process.now += ACTIVE_SECONDS + 0.1

    assert process.starts("a", 100) == 100


def test_call_that_would_wait_after_its_deadline_is_rejected(process: Process) -> None:
    process.run("b")
    process.run("a", 0.2)

    set_deadline(time.monotonic() + 0.1)
    with pytest.raises(CpuShareExceeded):
        process.start("a")
    set_deadline(None)
    assert process.start("a") is None


def test_wait_of_a_canceled_call_is_not_charged(process: Process) -> None:
    async def cancel(_seconds: float) -> None:
        raise asyncio.CancelledError

    process.run("b")
    process.run("a", 0.2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asyncio.sleep", cancel)
        for _ in range(10_000):
            with pytest.raises(asyncio.CancelledError):
                process.run("a")

    assert process.start("a") is None


def test_steps_of_a_coroutine_are_measured_without_its_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stopped(Exception):
        pass

    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)

    async def work() -> str:
        nonlocal now
        now += 1
        await asyncio.gather(others())
        with suppress(Stopped):
            await stop()
        now += 2
        return "done"

    async def others() -> None:
        nonlocal now
        now += 10

    async def stop() -> None:
        nonlocal now
        await asyncio.sleep(0)
        now += 4
        raise Stopped

    steps = Steps()

    assert run(steps.of(work())) == "done"
    assert steps.seconds == 7


class Limit(Interceptor):
    """Rejects the calls with an ID."""

    def intercept(self, call: Call) -> None:
        if call.request.id:
            raise RateLimited(1)


@pytest.mark.parametrize(("max_delayed", "first"), [(100, ""), (0, "rejected")])
def test_rejected_calls_end_after_calls_that_were_sent_later(
    monkeypatch: pytest.MonkeyPatch, max_delayed: int, first: str
) -> None:
    monkeypatch.setattr(chain, "MAX_DELAYED", max_delayed)

    async def main() -> list[str]:
        ended = []
        async with limited_service("in-process", Limit()) as service:
            service.handlers.gate.set()

            async def call(text: str) -> None:
                with suppress(aio.AioRpcError):
                    await service.stub.GetSubscriber(pb.GetSubscriberRequest(id=text), timeout=20)
                ended.append(text)

            await asyncio.gather(*(call(text) for text in ["rejected"] * 3 + [""] * 3))
        return ended

    assert run(main())[:3] == [first] * 3
