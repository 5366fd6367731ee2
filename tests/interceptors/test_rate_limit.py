"""The rate limit: its buckets on a clock of the test's own, and what a call says of it."""

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

from http_gateway.channel.in_process import InProcessChannel
from server import caller
from server.config import Rate
from server.errors import TagNotFound
from server.interceptors.base import Interceptor, Method, Proceed
from server.interceptors.observe import REQUEST_ID, Observe
from server.interceptors.rate_limit import NANOSECONDS, Buckets, RateLimit
from server.interceptors.translate import Translate
from server.messages import Context
from server.observability.observability import disabled_observability

RATES = [Rate(1, 1), Rate(3, 7), Rate(100, 1), Rate(5000, 60), Rate(7, 86_400)]
each_rate = pytest.mark.parametrize("rate", RATES, ids=lambda rate: f"{rate.calls}/{rate.seconds}")


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self, seconds: int = 1_000_000) -> None:
        self.now = seconds * NANOSECONDS

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * NANOSECONDS)


def buckets_of(rate: Rate) -> tuple[Buckets, Clock]:
    clock = Clock()
    return Buckets(rate, clock), clock


@each_rate
def test_bucket_lets_so_many_calls_pass_at_once_and_counts_them_down(rate: Rate) -> None:
    buckets, _ = buckets_of(rate)

    turns = [buckets.take("ada") for _ in range(rate.calls + 1)]

    assert [turn.remaining for turn in turns] == [*reversed(range(rate.calls)), 0]
    assert [turn.allowed for turn in turns] == [True] * rate.calls + [False]


@each_rate
def test_client_that_waits_when_no_call_is_left_is_never_refused_in_1000_calls(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)

    for _ in range(max(1_000, 3 * rate.calls)):
        turn = buckets.take("ada")
        assert turn.allowed
        if turn.remaining == 0:
            clock.sleep(turn.seconds)


@each_rate
def test_client_that_waits_after_a_refusal_is_not_refused_again_in_1000_calls(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    hasty = random.Random(7)

    for _ in range(1_000):
        clock.sleep(hasty.random() * rate.seconds / rate.calls)
        turn = buckets.take("ada")
        if not turn.allowed:
            clock.sleep(turn.seconds)
            assert buckets.take("ada").allowed


@each_rate
def test_client_is_not_kept_waiting_a_second_too_long(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    for _ in range(rate.calls):
        buckets.take("ada")

    turn = buckets.take("ada")

    assert turn.seconds == -(-rate.seconds // rate.calls)
    clock.sleep(turn.seconds - 1)
    assert not buckets.take("ada").allowed


def test_refusal_costs_nothing() -> None:
    buckets, clock = buckets_of(Rate(1, 10))
    buckets.take("ada")

    for _ in range(9):
        clock.sleep(1)
        assert not buckets.take("ada").allowed

    clock.sleep(1)
    assert buckets.take("ada").allowed


def test_accounts_do_not_draw_on_each_other() -> None:
    buckets, _ = buckets_of(Rate(1, 10))
    buckets.take("ada")

    assert buckets.take("bob").allowed
    assert not buckets.take("ada").allowed


@each_rate
def test_buckets_let_pass_what_exact_arithmetic_lets_pass(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    tokens, last = dict.fromkeys("abc", Fraction(rate.calls)), dict.fromkeys("abc", clock.now)
    dice = random.Random(11)

    for _ in range(3_000):
        gap = 2 * rate.seconds if dice.random() < 0.01 else rate.seconds / rate.calls / 2
        clock.sleep(gap * dice.random())
        name = dice.choice("aab" if dice.random() < 0.9 else "c")
        come = Fraction(clock.now - last[name], NANOSECONDS) * rate.calls / rate.seconds
        tokens[name], last[name] = min(tokens[name] + come, Fraction(rate.calls)), clock.now
        allowed = tokens[name] >= 1
        tokens[name] -= allowed

        turn = buckets.take(name)

        assert (turn.allowed, turn.remaining) == (allowed, int(tokens[name]))


def test_full_buckets_are_forgotten() -> None:
    buckets, clock = buckets_of(Rate(10, 60))
    most = 0

    for number in range(10_000):
        clock.sleep(1)
        buckets.take(f"account {number}")
        most = max(most, len(buckets))

    assert most <= 2 * 60


class Enter(Interceptor):
    """Takes the account that a call names for its caller."""

    async def around(self, method: Method, proceed: Proceed, request: Any, context: Context) -> Any:
        name = dict(context.invocation_metadata() or ())["account"]
        caller.enter(caller.Caller(str(name), "key", "admin", email_verified=True))
        return await proceed(request, context)


class Tags(tags_pb2_grpc.TagServiceServicer):
    """Has every tag that has an id."""

    def __init__(self) -> None:
        self.calls = 0

    async def GetTag(self, request: Any, context: Any) -> Any:
        self.calls += 1
        if not request.id:
            raise TagNotFound
        return pb.GetTagResponse()


@asynccontextmanager
async def stub_of(kind: str, tags: Tags, rate: Rate) -> AsyncIterator[Any]:
    """A stub for tags behind a rate limit whose clock stands still."""
    chain = [
        Observe(disabled_observability().calls),
        Translate(),
        Enter(),
        RateLimit(rate, Clock()),
    ]

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


each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])
ADA = (("account", "ada"), (REQUEST_ID, "abc"))


@each_channel
def test_every_answer_says_what_is_left_beside_the_request_id(kind: str) -> None:
    async def main() -> list[dict[str, Any]]:
        said = []
        async with stub_of(kind, Tags(), Rate(3, 60)) as stub:
            for tag_id in ("x", ""):
                call = stub.GetTag(pb.GetTagRequest(id=tag_id), metadata=ADA, timeout=20)
                await awaited(call)
                trailing = list(await call.trailing_metadata())
                assert len(dict(trailing)) == len(trailing)
                said.append(dict(trailing))
        return said

    found, missing = asyncio.run(main())

    policy = {REQUEST_ID: "abc", "ratelimit-policy": '"default";q=3;w=60'}
    assert found == {**policy, "ratelimit": '"default";r=2;t=20'}
    del missing["grpc-status-details-bin"]
    assert missing == {**policy, "ratelimit": '"default";r=1;t=20'}


async def awaited(call: Any) -> aio.AioRpcError | None:
    """Returns what a call failed with, or None."""
    try:
        await call
    except aio.AioRpcError as error:
        return error
    return None


@each_channel
def test_refusal_says_when_to_go_on_and_runs_nothing(kind: str) -> None:
    tags = Tags()

    async def main() -> aio.AioRpcError | None:
        async with stub_of(kind, tags, Rate(1, 60)) as stub:
            for _ in range(2):
                error_response = await awaited(stub.GetTag(pb.GetTagRequest(id="x"), metadata=ADA))
        return error_response

    error_response = asyncio.run(main())

    assert error_response is not None
    assert (error_response.code(), tags.calls) == (StatusCode.RESOURCE_EXHAUSTED, 1)
    said = dict(list(error_response.trailing_metadata() or ()))
    assert said["retry-after"] == "60"
    assert said["grpc-retry-pushback-ms"] == "60000"
    assert said["ratelimit"] == '"default";r=0;t=60'
    assert said[REQUEST_ID] == "abc"
    info, retry = details_of(error_response)
    assert (info.reason, retry.retry_delay.seconds) == ("RATE_LIMITED", 60)


def details_of(error_response: aio.AioRpcError) -> tuple[Any, Any]:
    """Returns ErrorInfo and RetryInfo of a failed call."""
    status = rpc_status.from_call(error_response)  # type: ignore[arg-type]
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status is not None
    for packed in status.details:
        for known in (info, retry):
            if packed.Is(known.DESCRIPTOR):
                packed.Unpack(known)
    return info, retry
