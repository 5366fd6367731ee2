"""The in-process channel behaves like a network channel of grpc.aio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from google.rpc import status_pb2
from grpc import StatusCode, aio
from grpc_status import rpc_status

from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc
from rosterd.server.rpc.interceptors.chain import InterceptorChain
from rosterd.server.rpc.interceptors.deadlines import Deadlines

from ..serving import Register, channel_to

TRAILING = (("x-text", "1"), ("x-bytes-bin", b"\0\xff"))
CHANNELS = ("real", "in-process")
each_channel = pytest.mark.parametrize("kind", CHANNELS)


class Tags(tags_pb2_grpc.TagServiceServicer):
    """A servicer whose result depends on the name in the request. GetTag is not implemented."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.received: dict[str, Any] = {}

    async def CreateTag(self, request: Any, context: Any) -> Any:
        self.received["metadata"] = [
            (key, value) for key, value in context.invocation_metadata() if key.startswith("x-")
        ]
        self.received["remaining"] = context.time_remaining()
        context.set_trailing_metadata(TRAILING)
        await getattr(self, request.name)(context)
        return pb.CreateTagResponse(tag=pb.Tag(name=request.name))

    async def succeed(self, context: Any) -> None:
        pass

    async def send_initial(self, context: Any) -> None:
        await context.send_initial_metadata((("x-initial", "1"),))

    async def abort(self, context: Any) -> None:
        await context.abort(StatusCode.NOT_FOUND, "gone")

    async def abort_without_details(self, context: Any) -> None:
        await context.abort(StatusCode.ABORTED)

    async def abort_with_metadata(self, context: Any) -> None:
        await context.abort(StatusCode.NOT_FOUND, "gone", (("x-other", "2"),))

    async def abort_with_status(self, context: Any) -> None:
        status = status_pb2.Status(code=StatusCode.NOT_FOUND.value[0], message="gone")
        await context.abort_with_status(rpc_status.to_status(status))

    async def abort_and_continue(self, context: Any) -> None:
        with suppress(Exception):  # as an incorrect handler does
            await context.abort(StatusCode.NOT_FOUND, "gone")

    async def set_code(self, context: Any) -> None:
        context.set_code(StatusCode.DATA_LOSS)
        context.set_details("lost")

    async def fail(self, _context: Any) -> None:
        raise LookupError("rose")

    async def set_code_and_fail(self, context: Any) -> None:
        await self.set_code(context)
        raise LookupError("rose")

    async def wait(self, _context: Any) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def served_by(tags: Tags) -> Register:
    return partial(tags_pb2_grpc.add_TagServiceServicer_to_server, tags)


Body = Callable[[Any, Tags], Awaitable[Any]]


def run(kind: str, body: Body, interceptors: Sequence[Any] = ()) -> Any:
    """Runs a coroutine function with a stub for the servicer."""

    async def main() -> Any:
        tags = Tags()
        async with channel_to(kind, served_by(tags), interceptors) as channel:
            return await asyncio.wait_for(body(tags_pb2_grpc.TagServiceStub(channel), tags), 20)

    return asyncio.run(main())


async def outcome_of(call: Any) -> dict[str, Any]:
    """Returns the response, metadata and status of a call."""
    failure: dict[str, Any] = {}
    try:
        failure["reply"] = await call
    except aio.AioRpcError as error:
        failure["code"], failure["details"] = error.code(), error.details()
        failure["trailing"] = list(error.trailing_metadata() or ())
        failure["initial"] = list(error.initial_metadata() or ())
    return {
        **failure,
        "done": call.done(),
        "cancelled": call.cancelled(),
        "call code": await call.code(),
        "call details": await call.details(),
        "call trailing": list(await call.trailing_metadata()),
        "call initial": list(await call.initial_metadata()),
    }


@pytest.mark.parametrize(
    ("does", "code", "details"),
    [
        ("succeed", StatusCode.OK, ""),
        ("send_initial", StatusCode.OK, ""),
        ("abort", StatusCode.NOT_FOUND, "gone"),
        ("abort_with_metadata", StatusCode.NOT_FOUND, "gone"),
        ("abort_with_status", StatusCode.NOT_FOUND, "gone"),
        ("abort_and_continue", StatusCode.NOT_FOUND, "gone"),
        ("set_code", StatusCode.DATA_LOSS, "lost"),
    ],
)
def test_calls_have_the_same_outcome_on_both_channels(
    does: str, code: StatusCode, details: str
) -> None:
    async def body(stub: Any, _tags: Tags) -> Any:
        return await outcome_of(stub.CreateTag(pb.CreateTagRequest(name=does), timeout=20))

    real, in_process = (run(kind, body) for kind in CHANNELS)

    assert in_process == real
    assert (real["call code"], real["call details"]) == (code, details)


@pytest.mark.parametrize("method", ["/roster.v1.TagService/Nothing", "/no.Service/GetTag"])
def test_unknown_method_has_the_same_outcome_on_both_channels(method: str) -> None:
    async def main(kind: str) -> Any:
        async with channel_to(kind, served_by(Tags())) as channel:
            call = channel.unary_unary(
                method, request_serializer=bytes, response_deserializer=bytes
            )
            return await outcome_of(call(b"", timeout=20))

    real, in_process = (asyncio.run(main(kind)) for kind in CHANNELS)

    assert in_process == real
    assert real["code"] is StatusCode.UNIMPLEMENTED


@each_channel
@pytest.mark.parametrize("timeout", [None, 20.0])
def test_handler_receives_the_remaining_time(kind: str, timeout: float | None) -> None:
    async def body(stub: Any, tags: Tags) -> Any:
        await stub.CreateTag(pb.CreateTagRequest(name="succeed"), timeout=timeout)
        return tags.received["remaining"]

    remaining = run(kind, body)

    # gRPC rounds a deadline up.
    assert remaining is None if timeout is None else 0 < remaining < timeout + 1


@each_channel
def test_exceeded_deadline_ends_the_call_and_the_handler(kind: str) -> None:
    async def body(stub: Any, tags: Tags) -> Any:
        # If the deadline passes before the handler starts, it never runs.
        for timeout in (0.1, 1, 5):
            outcome = await outcome_of(
                stub.CreateTag(pb.CreateTagRequest(name="wait"), timeout=timeout)
            )
            assert outcome["code"] is StatusCode.DEADLINE_EXCEEDED
            if tags.started.is_set():
                break
        await tags.cancelled.wait()

    run(kind, body, [InterceptorChain(Deadlines())])


@each_channel
def test_call_ends_when_its_awaiting_task_is_cancelled(kind: str) -> None:
    async def body(stub: Any, tags: Tags) -> Any:
        call = stub.CreateTag(pb.CreateTagRequest(name="wait"), timeout=20)

        async def wait() -> None:
            await call

        task = asyncio.create_task(wait())
        await tags.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await tags.cancelled.wait()
        return call.done(), call.cancelled(), await call.code()

    assert run(kind, body) == (True, True, StatusCode.CANCELLED)
