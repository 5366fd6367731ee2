"""Streams of the in-process channel behave as those of a real one: one table for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

import grpc
import pytest
from grpc import StatusCode, aio

from http_gateway.channel.in_process import InProcessChannel

from ..made import METHODS, SERVICE, message, told
from ..serving import Handler, channel_to, handled_by, run

CHANNELS = ("real", "in-process")
each_channel = pytest.mark.parametrize("kind", CHANNELS)
TRAILING = (("x-text", "1"), ("x-bytes-bin", b"\0\xff"))


def put(*names: str) -> Any:
    return message("Put", items=[message("Item", name=name) for name in names])


async def puts(*names: str) -> AsyncIterator[Any]:
    for name in names:
        yield put(name)


def texts(reply: Any) -> list[str]:
    return [note.text for note in reply.notes]


Body = Callable[[Callable[..., Any]], Awaitable[Any]]


def call_of(kind: str, name: str, handler: Handler | None, body: Body) -> Any:
    """Runs a test's body with what calls the method of this name, and the handler behind it."""
    request, reply, _ = METHODS[name]
    shape = "_".join("stream" if side[0] == "*" else "unary" for side in (request, reply))

    async def main() -> Any:
        handlers = {} if handler is None else {name: handler}
        async with channel_to(kind, handled_by(SERVICE, handlers)) as channel:
            method = getattr(channel, shape)(
                f"/{SERVICE.full_name}/{name}",
                request_serializer=lambda sent: sent.SerializeToString(),
                response_deserializer=type(message(reply.removeprefix("*"))).FromString,
            )
            return await body(method)

    return run(main())


async def told_by(call: Any) -> dict[str, Any]:
    """Returns everything that a call gives, and says once it is over."""
    said: dict[str, Any] = {"replies": [], "iterates over itself": aiter(call) is aiter(call)}
    try:
        async for reply in call:
            said["replies"].append(texts(reply))
    except aio.AioRpcError as error:
        said["code"], said["details"] = error.code(), error.details()
        said["trailing"] = list(error.trailing_metadata() or ())
        said["initial"] = list(error.initial_metadata() or ())
    return {
        **said,
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


async def abort_and_go_on(context: Any) -> None:
    with suppress(Exception):  # as a careless handler does
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
        (abort_and_go_on, StatusCode.NOT_FOUND, "gone"),
        (set_code, StatusCode.DATA_LOSS, "lost"),
    ],
)
def test_both_channels_tell_the_same_of_a_stream(
    does: Callable[[Any], Awaitable[None]], code: StatusCode, details: str, replies: int
) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        context.set_trailing_metadata(TRAILING)
        if does is send_initial:
            await does(context)
        for number in range(replies):
            yield told(request.name, str(number))
        if does is not send_initial:
            await does(context)

    async def body(method: Any) -> Any:
        return await told_by(method(message("Ask", name="x"), metadata=(), timeout=20))

    real, in_process = (call_of(kind, "Give", give, body) for kind in CHANNELS)

    assert in_process == real
    assert real["replies"] == [["x", "0"], ["x", "1"]][:replies]
    assert (real["call code"], real["call details"]) == (code, details)


@each_channel
def test_a_handler_that_fails_amid_its_replies_gives_unknown(kind: str) -> None:
    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told("a")
        raise LookupError("rose")

    async def body(method: Any) -> Any:
        return await told_by(method(message("Ask")))

    said = call_of(kind, "Give", give, body)

    assert (said["replies"], said["code"]) == ([["a"]], StatusCode.UNKNOWN)


@pytest.mark.parametrize("name", ["Give", "Both"])
def test_both_channels_tell_the_same_of_an_unknown_method(name: str) -> None:
    async def body(method: Any) -> Any:
        return await told_by(method(puts() if name == "Both" else message("Ask")))

    real, in_process = (call_of(kind, name, None, body) for kind in CHANNELS)

    assert in_process == real
    assert real["code"] is StatusCode.UNIMPLEMENTED


@each_channel
def test_each_message_is_answered_before_the_next_is_sent(kind: str) -> None:
    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield told(*(item.name for item in request.items))

    async def body(method: Any) -> Any:
        sent: asyncio.Queue[Any] = asyncio.Queue()

        async def requests() -> AsyncIterator[Any]:
            while names := await sent.get():
                yield put(*names)

        call, seen = method(requests()), []
        for names in (["a"], ["b", "c"]):
            sent.put_nowait(names)
            seen.append(texts(await anext(aiter(call))))
        sent.put_nowait([])
        return seen, [texts(reply) async for reply in call]

    assert call_of(kind, "Both", both, body) == ([["a"], ["b", "c"]], [])


@each_channel
def test_a_client_stream_is_answered_once(kind: str) -> None:
    async def collect(requests: Any, context: Any) -> Any:
        context.set_trailing_metadata(TRAILING)
        return message("Sum", total=len([request async for request in requests]))

    async def body(method: Any) -> Any:
        call = method(puts("a", "b", "c"), timeout=20)
        reply = await call
        return reply.total, await call.code(), list(await call.trailing_metadata())

    assert call_of(kind, "Collect", collect, body) == (3, StatusCode.OK, list(TRAILING))


@each_channel
def test_a_handler_may_answer_before_it_has_read_everything(kind: str) -> None:
    async def collect(requests: Any, context: Any) -> Any:
        await anext(aiter(requests))
        return message("Sum", total=1)

    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        yield told((await anext(aiter(requests))).items[0].name)

    async def once(method: Any) -> Any:
        return (await method(puts(*"abc"))).total

    async def stream(method: Any) -> Any:
        return [texts(reply) async for reply in method(puts(*"abc"))]

    assert call_of(kind, "Collect", collect, once) == 1
    assert call_of(kind, "Both", both, stream) == [["a"]]


@each_channel
@pytest.mark.parametrize("name", ["Give", "Both"])
def test_replies_can_be_read_one_by_one(kind: str, name: str) -> None:
    async def handler(request: Any, context: Any) -> AsyncIterator[Any]:
        yield told("a")
        yield told("b")

    async def body(method: Any) -> Any:
        call = method(message("Ask") if name == "Give" else puts())
        return [texts(await call.read()), texts(await call.read()), await call.read() is aio.EOF]

    assert call_of(kind, name, handler, body) == [["a"], ["b"], True]


@each_channel
def test_a_handler_sees_metadata_and_what_is_left_of_the_deadline(kind: str) -> None:
    seen: list[Any] = []

    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        seen.append([pair for pair in context.invocation_metadata() if pair[0] == "x-a"])
        seen.append(context.time_remaining())
        yield told("a")

    async def body(method: Any) -> Any:
        return await told_by(method(puts(), metadata=(("x-a", "1"),), timeout=20))

    call_of(kind, "Both", both, body)

    assert [tuple(pair) for pair in seen[0]] == [("x-a", "1")]
    assert 0 < seen[1] < 21


class PausedConnection:
    """A handler that gives one reply and then waits; notes how it ends."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    async def give(self, request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            yield told("a")
            self.begun.set()
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def classify_failure(call: Any) -> str:
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
def test_a_call_that_is_cancelled_ends_and_its_handler_too(kind: str, when: str) -> None:
    async def main(method: Any) -> Any:
        call = method(message("Ask"))
        if when == "before it runs":
            cancelled = call.cancel()
            return cancelled, await classify_failure(call), call.cancelled(), call.done()
        assert texts(await anext(aiter(call))) == ["a"]
        task = asyncio.create_task(classify_failure(call)) if when == "while it waits" else None
        if task:
            await waiting.begun.wait()
        cancelled = call.cancel()
        outcome = await (task or classify_failure(call))
        await waiting.ended.wait()
        return cancelled, outcome, call.cancelled(), call.done()

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        async with aclosing(waiting.give(request, context)) as replies:
            async for reply in replies:
                yield reply

    waiting = PausedConnection()

    assert call_of(kind, "Give", give, main) == (True, "cancelled", True, True)


@each_channel
def test_a_call_ends_when_the_task_that_iterates_is_cancelled(kind: str) -> None:
    waiting = PausedConnection()

    async def body(method: Any) -> Any:
        call = method(message("Ask"))
        await anext(aiter(call))
        task = asyncio.create_task(classify_failure(call))
        await waiting.begun.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        outcome = await task
        await waiting.ended.wait()
        return outcome, call.cancelled(), await call.code()

    assert call_of(kind, "Give", waiting.give, body) == ("cancelled", True, StatusCode.CANCELLED)


@each_channel
@pytest.mark.parametrize("name", ["Both", "Collect"])
def test_a_client_whose_messages_fail_cancels_its_call(kind: str, name: str) -> None:
    ended: list[str] = []
    over = asyncio.Event()

    async def read(requests: Any) -> None:
        try:
            async for request in requests:
                ended.append(request.items[0].name)
            ended.append("end")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        finally:
            over.set()

    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        await read(requests)
        yield told("all")

    async def collect(requests: Any, context: Any) -> Any:
        await read(requests)
        return message("Sum")

    async def failing() -> AsyncIterator[Any]:
        yield put("a")
        raise LookupError("the client's own")

    async def body(method: Any) -> Any:
        call = method(failing())
        with suppress(asyncio.CancelledError):
            await (call if name == "Collect" else classify_failure(call))
        if ended:
            await over.wait()
        return call.cancelled(), await call.code()

    handler = both if name == "Both" else collect
    assert call_of(kind, name, handler, body) == (True, StatusCode.CANCELLED)
    # To a handler behind a socket a call that was cancelled may look as if it had ended,
    # and be over before it has begun.
    assert ended == ["a", "cancelled"] or kind == "real"


@each_channel
def test_nothing_is_taken_from_a_handler_before_it_is_asked_for(kind: str) -> None:
    given = 0

    async def give(request: Any, context: Any) -> AsyncIterator[Any]:
        nonlocal given
        while True:
            given += 1
            yield told("x" * 65_536)

    async def body(method: Any) -> Any:
        call = method(message("Ask"))
        await anext(aiter(call))
        before = 0
        # This comes to an end, since the handler has to stand still.
        while before != given:
            before = given
            await asyncio.sleep(0.5)
        call.cancel()
        return given

    taken = call_of(kind, "Give", give, body)
    # A socket holds a window of messages, how large gRPC says.
    assert taken == 1 or kind == "real"


def test_interceptors_wrap_streams_the_first_outermost() -> None:
    seen: list[str] = []

    class Noting(aio.ServerInterceptor):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            self.name = name

        async def intercept_service(self, continuation: Any, details: Any) -> Any:
            handler = await continuation(details)

            async def noted(requests: Any, context: Any) -> AsyncIterator[Any]:
                seen.append(self.name)
                async for reply in handler.stream_stream(requests, context):
                    yield reply

            return handler._replace(stream_stream=noted)

    async def both(requests: Any, context: Any) -> AsyncIterator[Any]:
        async for _ in requests:
            yield told("a")

    def register(server: Any) -> None:
        handler = grpc.stream_stream_rpc_method_handler(both)
        server.add_registered_method_handlers("made.Service", {"Both": handler})

    async def main() -> Any:
        channel = InProcessChannel(register, (Noting("first"), Noting("second")))
        return [texts(r) async for r in channel.stream_stream("/made.Service/Both")(puts("x"))]

    assert run(main()) == [["a"]]
    assert seen == ["first", "second"]
