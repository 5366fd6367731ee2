"""The limit of an account's CPU time while others call, and the delay of rejected calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from grpc import aio
from roster.v1 import subscribers_pb2 as pb

from server.errors import Overloaded, RateLimited
from server.interceptors import chain
from server.interceptors.base import Call, Interceptor, method_of
from server.interceptors.fair_share import RECENT_SECONDS, SHARE, FairShare
from server.storage.executor.work_time import current

from ..http_gateway.serving import run
from .test_concurrency_limit import limited_service

GET = method_of("/roster.v1.SubscriberService/GetSubscriber")
COST = 0.002


class Process:
    """The clocks of a process, and calls of accounts that take COST of CPU time each."""

    def __init__(self) -> None:
        self.now = self.cpu = 0.0
        self.share = FairShare(lambda: self.now, lambda: self.cpu)

    def starts(self, account: str, calls: int = 1) -> int:
        """Returns how many of concurrent calls start at once."""
        started = 0
        for _ in range(calls):
            pending = self.share.intercept(self._call(account))
            if pending is None:
                started += 1
            else:
                pending.close()  # type: ignore[attr-defined]
        return started

    def call_briefly(self, account: str) -> None:
        """Runs a call that takes no time."""
        call = self._call(account)
        self.share.intercept(call)
        call.finish()

    def run(self, account: str, *, by_database: bool = False) -> None:
        """Runs a call after its wait."""
        call = self._call(account)
        pending = self.share.intercept(call)
        if pending is not None:
            with pytest.raises(StopIteration):
                pending.__await__().send(None)
        work_time = current.get()
        if by_database and work_time is not None:
            work_time.cpu_seconds += COST
        else:
            self.cpu += COST
        call.finish()

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    def _call(self, account: str) -> Call:
        context: Any = SimpleNamespace(invocation_metadata=lambda: ())
        call = Call(GET, None, context)
        call.account_id = account
        return call


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    process = Process()
    monkeypatch.setattr("asyncio.current_task", lambda _=None: None)
    monkeypatch.setattr("asyncio.sleep", process.sleep)
    token = current.set(None)
    yield process
    current.reset(token)


def test_account_that_calls_alone_does_not_wait(process: Process) -> None:
    assert process.starts("a", 1_000) == 1_000


def test_account_waits_after_its_share_while_another_calls(process: Process) -> None:
    process.call_briefly("b")

    assert process.starts("a", 100) < 100
    assert process.starts("b") == 1


@pytest.mark.parametrize("by_database", [False, True])
def test_share_is_in_cpu_time(process: Process, by_database: bool) -> None:
    for _ in range(1_000):
        process.call_briefly("b")
        process.run("a", by_database=by_database)

    assert process.now == pytest.approx(1_000 * COST / SHARE, rel=0.1)


def test_account_does_not_wait_after_others_have_stopped(process: Process) -> None:
    process.call_briefly("b")
    assert process.starts("a", 100) < 100

    process.now += RECENT_SECONDS + 0.1

    assert process.starts("a", 100) == 100


def test_call_that_would_wait_too_long_is_rejected(process: Process) -> None:
    process.call_briefly("b")

    with pytest.raises(Overloaded):
        process.starts("a", 10_000)


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
