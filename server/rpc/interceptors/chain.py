"""Runs the interceptors of a call, then its handler, and turns exceptions into statuses.

An error of `errors.py` becomes its status. Any other exception is logged with its traceback,
and the client receives INTERNAL.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NoReturn

from google.protobuf.message import Message
from grpc.aio import AbortError

from ...values.counts import RunningCounts
from .. import caller
from ..errors import Internal, RateLimited, RosterError
from ..messages import Context, serializer
from .base import PACKAGE, Call, HandlerInterceptor, Interceptor, Method, method_of
from .error_status import abort

log = logging.getLogger(__name__)

# The delay of a rejection by a limit, in seconds.
DELAY_SECONDS = 0.1
# The maximum number of delayed rejections of an account. Further ones are not delayed.
MAX_DELAYED = 64
UnaryHandler = Callable[[Any, Context], Awaitable[Message]]
StreamHandler = Callable[[Any, Context], AsyncGenerator[Message, None]]
# Adds a page to the error of a call by a form.
AddPage = Callable[[RosterError, Context], None]
Hooks = Sequence[Callable[[Call], Awaitable[None] | None]]


class InterceptorChain(HandlerInterceptor):
    """Runs interceptors in their order, for calls of roster.v1."""

    def __init__(self, *interceptors: Interceptor, add_page: AddPage | None = None) -> None:
        super().__init__()
        self._interceptors = interceptors
        self._add_page = add_page
        # Delayed rejections by account ID, which is empty for calls without a key.
        self._delayed: RunningCounts[str] = RunningCounts()

    def wrap(self, path: str, handler: Any) -> Any:
        if not path.startswith(f"/{PACKAGE}"):
            return handler
        method = method_of(path)
        handler = handler._replace(response_serializer=serializer(handler.response_serializer))
        for interceptor in self._interceptors:
            handler = interceptor.wrap(handler)
        hooks = [each.intercept for each in self._interceptors if each.applies_to(method)]
        loop = asyncio.get_running_loop()
        for kind, run in (
            ("unary_unary", self._run_unary),
            ("unary_stream", self._run_stream),
            ("stream_stream", self._run_stream),
        ):
            behavior = getattr(handler, kind)
            if behavior is not None:
                return handler._replace(**{kind: partial(run, method, loop, hooks, behavior)})
        raise TypeError(f"{method.name} is client-streaming, which is not supported")

    async def _run_unary(
        self,
        method: Method,
        loop: asyncio.AbstractEventLoop,
        hooks: Hooks,
        handler: UnaryHandler,
        request: Any,
        context: Context,
    ) -> Message:
        call = Call(method, request, context, loop)
        try:
            await _accept(call, hooks)
            handling = handler(call.request, context)
            return await (call.steps.of(handling) if call.steps else handling)
        except BaseException as error:
            failure = _error_of(call, error)
            if failure is None:
                raise
            await self._fail(call, failure)
        finally:
            call.finish()

    async def _run_stream(
        self,
        method: Method,
        loop: asyncio.AbstractEventLoop,
        hooks: Hooks,
        handler: StreamHandler,
        request: Any,
        context: Context,
    ) -> AsyncGenerator[Message, None]:
        call = Call(method, request, context, loop)
        try:
            await _accept(call, hooks)
            async with aclosing(handler(call.request, context)) as responses:
                async for response in responses:
                    call.suspend()
                    # Released before the yield, which waits for a slow client.
                    kept = [response]
                    del response
                    yield kept.pop()
                    call.resume()
        except BaseException as error:
            failure = _error_of(call, error)
            if failure is None:
                raise
            await self._fail(call, failure)
        finally:
            call.finish()

    async def _fail(self, call: Call, failure: RosterError) -> NoReturn:
        """Ends a call with the status of an error."""
        call.suspend()
        await self._delay(call, failure)
        if call.method.takes_forms and self._add_page is not None:
            self._add_page(failure, call.context)
        await abort(call.context, failure)

    async def _delay(self, call: Call, error: RosterError) -> None:
        """Delays a rejection by a limit, so that immediate retries of a client use less CPU."""
        if not isinstance(error, RateLimited) or self._delayed[call.account_id] >= MAX_DELAYED:
            return
        with self._delayed.one(call.account_id):
            try:
                await asyncio.sleep(DELAY_SECONDS)
            except asyncio.CancelledError:
                call.was_cancelled = True
                raise


async def _accept(call: Call, hooks: Hooks) -> None:
    """Runs the interceptors of a call."""
    for intercept in hooks:
        pending = intercept(call)
        if pending is not None:
            await pending


def _error_of(call: Call, error: BaseException) -> RosterError | None:
    """Returns the error that the client receives.

    Returns None if the client has canceled the call, or if it was aborted. The exception is then
    raised again, but not here: its traceback would refer to a function that refers to it, which
    keeps all that the call has read in memory until the next collection of garbage.
    """
    if isinstance(error, RosterError):
        return error
    if isinstance(error, asyncio.CancelledError):
        cancellation = call.cancellation_error()
        if cancellation is not None:
            return cancellation
    if isinstance(error, AbortError) or not isinstance(error, Exception):
        call.was_cancelled = True
        return None
    log.error(
        "%s failed", call.method.name, exc_info=error, extra={"requestId": caller.request_id()}
    )
    return Internal()
