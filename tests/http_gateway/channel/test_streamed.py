"""Streams of the in-process channel behave like those of a network channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import pytest
from grpc import StatusCode, aio

from ..serving import Handler, channel_to, register_handlers, run
from ..stream_service import METHODS, SERVICE, message, notes_reply

CHANNELS = ("real", "in-process")
each_channel = pytest.mark.parametrize("kind", CHANNELS)
TRAILING = (("x-text", "1"), ("x-bytes-bin", b"\0\xff"))


def items_request(*names: str) -> Any:
    return message("ItemsRequest", items=[message("Item", name=name) for name in names])


def texts(reply: Any) -> list[str]:
    return [note.text for note in reply.notes]


Body = Callable[[Callable[..., Any]], Awaitable[Any]]


def call_of(kind: str, name: str, handler: Handler | None, body: Body) -> Any:
    """Runs a coroutine function with the multi-callable of a method."""
    request, reply, _ = METHODS[name]
    shape = "_".join("stream" if side[0] == "*" else "unary" for side in (request, reply))

    async def main() -> Any:
        handlers = {} if handler is None else {name: handler}
        async with channel_to(kind, register_handlers(SERVICE, handlers)) as channel:
            method = getattr(channel, shape)(
                f"/{SERVICE.full_name}/{name}",
                request_serializer=lambda sent: sent.SerializeToString(),
                response_deserializer=type(message(reply.removeprefix("*"))).FromString,
            )
            return await body(method)

    return run(main())


async def outcome_of(call: Any) -> dict[str, Any]:
    """Returns the responses, metadata and status of a call."""
    result: dict[str, Any] = {"replies": [], "iterates over itself": aiter(call) is aiter(call)}
    try:
        async for reply in call:
            result["replies"].append(texts(reply))
    except aio.AioRpcError as error:
        result["code"], result["details"] = error.code(), error.details()
        result["trailing"] = list(error.trailing_metadata() or ())
        result["initial"] = list(error.initial_metadata() or ())
    return {
        **result,
        "done": call.done(),
        "cancelled": call.cancelled(),
        "call code": await call.code(),
        "call details": await call.details(),
        "call trailing": list(await call.trailing_metadata()),
        "call initial": list(await call.initial_metadata()),
        "cancel": call.cancel(),
        "again": [texts(reply) async for reply in call],
    }


async def succeed(context: Any) -> None:
    pass


async def send_initial(context: Any) -> None:
    await context.send_initial_metadata((("x-initial", "1"),))


async def abort(context: Any) -> None:
    await context.abort(StatusCode.NOT_FOUND, "gone")


async def abort_and_continue(context: Any) -> None:
    with suppress(Exception):  # as an incorrect handler does
        await abort(context)


async def set_code(context: Any) -> None:
    context.set_code(StatusCode.DATA_LOSS)
    context.set_details("lost")


@pytest.mark.parametrize("replies", [0, 2])
@pytest.mark.parametrize(
    ("does", "code", "details"),
    [
        (succeed, StatusCode.OK, ""),
        (send_initial, StatusCode.OK, ""),
        (abort, StatusCode.NOT_FOUND, "gone"),
        (abort_and_continue, StatusCode.NOT_FOUND, "gone"),
        (set_code, StatusCode.DATA_LOSS, "lost"),
    ],
)
def test_streams_have_the_same_outcome_on_both_channels(
    does: Callable[[Any], Awaitable[None]], code: StatusCode, details: str, replies: int
) -> None:
    async def send_notes(request: Any, context: Any) -> AsyncIterator[Any]:
        context.set_trailing_metadata(TRAILING)
        if does is send_initial:
            await does(context)
        for number in range(replies):
            yield notes_reply(request.name, str(number))
        if does is not send_initial:
            await does(context)

    async def body(method: Any) -> Any:
        return await outcome_of(method(message("NameRequest", name="x"), metadata=(), timeout=20))

    real, in_process = (call_of(kind, "List", send_notes, body) for kind in CHANNELS)

    if does is send_initial and not replies:
        # grpc.aio loses it if the status arrives together with it.
        real["call initial"] = in_process["call initial"]
    assert in_process == real
    assert real["replies"] == [["x", "0"], ["x", "1"]][:replies]
    assert (real["call code"], real["call details"]) == (code, details)


class WaitingHandler:
    """A handler that sends one response, waits, and records how it ends."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.has_ended = asyncio.Event()

    async def send_notes(self, _request: Any, _context: Any) -> AsyncIterator[Any]:
        try:
            yield notes_reply("a")
            self.started.set()
            await asyncio.Event().wait()
        finally:
            self.has_ended.set()


async def read_until_error(call: Any) -> str:
    try:
        async for _ in call:
            pass
    except asyncio.CancelledError:
        return "cancelled"
    except aio.AioRpcError:
        return "failed"
    return "ended"


@each_channel
@pytest.mark.parametrize("when", ["before it runs", "between two replies", "while it waits"])
def test_cancellation_ends_the_call_and_its_handler(kind: str, when: str) -> None:
    async def main(method: Any) -> Any:
        call = method(message("NameRequest"))
        if when == "before it runs":
            cancelled = call.cancel()
            return cancelled, await read_until_error(call), call.cancelled(), call.done()
        assert texts(await anext(aiter(call))) == ["a"]
        task = asyncio.create_task(read_until_error(call)) if when == "while it waits" else None
        if task:
            await waiting.started.wait()
        cancelled = call.cancel()
        outcome = await (task or read_until_error(call))
        await waiting.has_ended.wait()
        return cancelled, outcome, call.cancelled(), call.done()

    async def send_notes(request: Any, context: Any) -> AsyncIterator[Any]:
        async with aclosing(waiting.send_notes(request, context)) as replies:
            async for reply in replies:
                yield reply

    waiting = WaitingHandler()

    assert call_of(kind, "List", send_notes, main) == (True, "cancelled", True, True)


@each_channel
@pytest.mark.parametrize("name", ["Exchange", "Collect"])
def test_exception_in_the_request_iterator_cancels_the_call(kind: str, name: str) -> None:
    has_ended: list[str] = []
    over = asyncio.Event()

    async def read(requests: Any) -> None:
        try:
            async for request in requests:
                has_ended.append(request.items[0].name)
            has_ended.append("end")
        except asyncio.CancelledError:
            has_ended.append("cancelled")
            raise
        finally:
            over.set()

    async def exchange(requests: Any, _context: Any) -> AsyncIterator[Any]:
        await read(requests)
        yield notes_reply("all")

    async def collect(requests: Any, _context: Any) -> Any:
        await read(requests)
        return message("Total")

    async def failing() -> AsyncIterator[Any]:
        yield items_request("a")
        raise LookupError("the client's own")

    async def body(method: Any) -> Any:
        call = method(failing())
        with suppress(asyncio.CancelledError):
            await (call if name == "Collect" else read_until_error(call))
        if has_ended:
            await over.wait()
        return call.cancelled(), await call.code()

    handler = exchange if name == "Exchange" else collect
    assert call_of(kind, name, handler, body) == (True, StatusCode.CANCELLED)
    # Over a network channel, a canceled call can look like a completed one, or never start.
    assert has_ended == ["a", "cancelled"] or kind == "real"


@each_channel
def test_handler_does_not_run_ahead_of_its_client(kind: str) -> None:
    sent_count = 0

    async def send_notes(_request: Any, _context: Any) -> AsyncIterator[Any]:
        nonlocal sent_count
        while True:
            sent_count += 1
            yield notes_reply("x" * 65_536)

    async def body(method: Any) -> Any:
        call = method(message("NameRequest"))
        await anext(aiter(call))
        before = 0
        # The loop ends when the handler is suspended.
        while before != sent_count:
            before = sent_count
            await asyncio.sleep(0.5)
        call.cancel()
        return sent_count

    count_at_suspension = call_of(kind, "List", send_notes, body)
    # A network connection buffers a window of messages. gRPC determines its size.
    assert count_at_suspension == 1 or kind == "real"
