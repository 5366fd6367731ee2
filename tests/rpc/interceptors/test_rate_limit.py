"""Tests the token buckets, and the metadata of rate-limited calls."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from typing import Any

import pytest
from google.rpc import error_details_pb2
from grpc import StatusCode, aio
from grpc_status import rpc_status

from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.config import Rate
from rosterd.server.observability.observability import disabled_observability
from rosterd.server.rpc.errors import TagNotFound
from rosterd.server.rpc.interceptors.base import Call, Interceptor
from rosterd.server.rpc.interceptors.chain import InterceptorChain
from rosterd.server.rpc.interceptors.observe import REQUEST_ID, Observe
from rosterd.server.rpc.interceptors.rate_limit import RateLimit
from rosterd.server.rpc.interceptors.token_buckets import NANOSECONDS, TokenBuckets

RATES = [Rate(1, 1), Rate(3, 7), Rate(100, 1), Rate(5000, 60), Rate(7, 86_400)]
at_every_rate = pytest.mark.parametrize(
    "rate", RATES, ids=lambda rate: f"{rate.calls}/{rate.seconds}"
)


class Clock:
    """A clock that tests advance."""

    def __init__(self, seconds: int = 1_000_000) -> None:
        self.now = seconds * NANOSECONDS

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * NANOSECONDS)


def buckets_of(rate: Rate) -> tuple[TokenBuckets, Clock]:
    clock = Clock()
    return TokenBuckets(rate, clock), clock


@at_every_rate
def test_bucket_allows_a_burst_of_its_size_and_counts_down(rate: Rate) -> None:
    buckets, _ = buckets_of(rate)

    decisions = [buckets.take("ada") for _ in range(rate.calls + 1)]

    assert [decision.remaining for decision in decisions] == [*reversed(range(rate.calls)), 0]
    assert [decision.allowed for decision in decisions] == [True] * rate.calls + [False]


@at_every_rate
def test_client_that_waits_when_no_call_remains_is_never_rejected(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)

    for _ in range(max(1_000, 3 * rate.calls)):
        decision = buckets.take("ada")
        assert decision.allowed
        if decision.remaining == 0:
            clock.sleep(decision.seconds)


@at_every_rate
def test_client_that_waits_after_a_rejection_is_not_rejected_again(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    pauses = random.Random(7)

    for _ in range(1_000):
        clock.sleep(pauses.random() * rate.seconds / rate.calls)
        decision = buckets.take("ada")
        if not decision.allowed:
            clock.sleep(decision.seconds)
            assert buckets.take("ada").allowed


@at_every_rate
def test_wait_is_rounded_up_by_less_than_a_second(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    for _ in range(rate.calls):
        buckets.take("ada")

    decision = buckets.take("ada")

    assert decision.seconds == -(-rate.seconds // rate.calls)
    clock.sleep(decision.seconds - 1)
    assert not buckets.take("ada").allowed


def test_rejected_call_takes_no_token() -> None:
    buckets, clock = buckets_of(Rate(1, 10))
    buckets.take("ada")

    for _ in range(9):
        clock.sleep(1)
        assert not buckets.take("ada").allowed

    clock.sleep(1)
    assert buckets.take("ada").allowed


def test_accounts_have_separate_buckets() -> None:
    buckets, _ = buckets_of(Rate(1, 10))
    buckets.take("ada")

    assert buckets.take("bob").allowed
    assert not buckets.take("ada").allowed


@at_every_rate
def test_buckets_agree_with_exact_arithmetic(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    tokens, last = dict.fromkeys("abc", Fraction(rate.calls)), dict.fromkeys("abc", clock.now)
    dice = random.Random(11)

    for _ in range(3_000):
        gap = 2 * rate.seconds if dice.random() < 0.01 else rate.seconds / rate.calls / 2
        clock.sleep(gap * dice.random())
        name = dice.choice("aab" if dice.random() < 0.9 else "c")
        refilled = Fraction(clock.now - last[name], NANOSECONDS) * rate.calls / rate.seconds
        tokens[name], last[name] = min(tokens[name] + refilled, Fraction(rate.calls)), clock.now
        allowed = tokens[name] >= 1
        tokens[name] -= allowed

        decision = buckets.take(name)

        assert (decision.allowed, decision.remaining) == (allowed, int(tokens[name]))


def test_full_buckets_are_removed() -> None:
    buckets, clock = buckets_of(Rate(10, 60))
    most = 0

    for number in range(10_000):
        clock.sleep(1)
        buckets.take(f"account {number}")
        most = max(most, len(buckets))

    assert most <= 2 * 60


class FakeAuthenticate(Interceptor):
    """Sets the account in the metadata as that of the call."""

    async def intercept(self, call: Call) -> None:
        call.account_id = str(dict(call.metadata)["account"])


class Tags(tags_pb2_grpc.TagServiceServicer):
    """Finds a tag for every id but the empty one."""

    def __init__(self) -> None:
        self.calls = 0

    async def GetTag(self, request: Any, _context: Any) -> Any:
        self.calls += 1
        if not request.id:
            raise TagNotFound
        return pb.GetTagResponse()


@asynccontextmanager
async def stub_of(kind: str, tags: Tags, rate: Rate) -> AsyncIterator[Any]:
    """A stub of a service with a rate limit whose clock stands still."""
    observe = Observe(disabled_observability().stats)
    chain = [InterceptorChain(observe, FakeAuthenticate(), RateLimit(rate, Clock()))]

    def register(server: Any) -> None:
        tags_pb2_grpc.add_TagServiceServicer_to_server(tags, server)

    if kind == "in-process":
        yield tags_pb2_grpc.TagServiceStub(InProcessChannel(register, chain))
        return
    server = aio.server(interceptors=chain)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield tags_pb2_grpc.TagServiceStub(channel)
    finally:
        await server.stop(None)


on_both_channels = pytest.mark.parametrize("kind", ["real", "in-process"])
ADA = (("account", "ada"), (REQUEST_ID, "abc"))


@on_both_channels
def test_every_response_has_the_rate_limit_and_the_request_id(kind: str) -> None:
    async def main() -> list[dict[str, Any]]:
        responses = []
        async with stub_of(kind, Tags(), Rate(3, 60)) as stub:
            for tag_id in ("x", ""):
                call = stub.GetTag(pb.GetTagRequest(id=tag_id), metadata=ADA, timeout=20)
                await error_of(call)
                metadata = list(await call.trailing_metadata())
                assert len(dict(metadata)) == len(metadata)
                responses.append(dict(metadata))
        return responses

    found, missing = asyncio.run(main())

    policy = {REQUEST_ID: "abc", "ratelimit-policy": '"default";q=3;w=60'}
    assert found == {**policy, "ratelimit": '"default";r=2;t=20'}
    del missing["grpc-status-details-bin"]
    assert missing == {**policy, "ratelimit": '"default";r=1;t=20'}


async def error_of(call: Any) -> aio.AioRpcError | None:
    """Returns the error of a call, or None."""
    try:
        await call
    except aio.AioRpcError as error:
        return error
    return None


@on_both_channels
def test_rejection_has_a_retry_delay_and_runs_no_handler(kind: str) -> None:
    tags = Tags()

    async def main() -> aio.AioRpcError | None:
        async with stub_of(kind, tags, Rate(1, 60)) as stub:
            for _ in range(2):
                error = await error_of(stub.GetTag(pb.GetTagRequest(id="x"), metadata=ADA))
        return error

    error = asyncio.run(main())

    assert error is not None
    assert (error.code(), tags.calls) == (StatusCode.RESOURCE_EXHAUSTED, 1)
    trailing = dict(list(error.trailing_metadata() or ()))
    assert trailing["retry-after"] == "60"
    assert trailing["grpc-retry-pushback-ms"] == "60000"
    assert trailing["ratelimit"] == '"default";r=0;t=60'
    assert trailing[REQUEST_ID] == "abc"
    info, retry = details_of(error)
    assert (info.reason, retry.retry_delay.seconds) == ("RATE_LIMITED", 60)


def details_of(error: aio.AioRpcError) -> tuple[Any, Any]:
    """Returns ErrorInfo and RetryInfo of a failed call."""
    status = rpc_status.from_call(error)
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status is not None
    for packed in status.details:
        for known in (info, retry):
            if packed.Is(known.DESCRIPTOR):
                packed.Unpack(known)
    return info, retry
