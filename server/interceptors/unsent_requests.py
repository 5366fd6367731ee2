"""Limits the calls that wait for their first message.

grpc.aio starts the handler of a unary request when its message has arrived. No deadline and no
limit applies before, so a client without a key could keep any number of calls open.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

import grpc
from grpc.aio import EOF, ServerInterceptor

from ..errors import DeadlineExceeded, Overloaded, RosterError
from ..messages import Context
from .deadlines import DEADLINE_SECONDS
from .error_status import abort
from .observe import enter_request
from .validate import undecodable_request

# The message of a good client arrives with its headers.
MAX_CALLS = 2_000


class UnsentRequests(ServerInterceptor):
    """Ends a call whose message does not arrive, and the oldest one if too many calls wait.

    Runs before the other interceptors, on a port. The handlers read the message themselves.
    """

    def __init__(
        self, max_calls: int = MAX_CALLS, deadline_seconds: float = DEADLINE_SECONDS
    ) -> None:
        self._max_calls = max_calls
        self._deadline_seconds = deadline_seconds
        self._waiting: OrderedDict[asyncio.Timeout, None] = OrderedDict()
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(details)
        if handler is None or handler.request_streaming:
            return handler
        inner, wrapped = self._wrapped.get(details.method, (None, None))
        if inner is not handler:
            wrapped = self._wrap(handler)
            self._wrapped[details.method] = (handler, wrapped)
        return wrapped

    def _wrap(self, handler: Any) -> Any:
        kind = "unary_stream" if handler.response_streaming else "unary_unary"
        behavior = getattr(handler, kind)
        run = self._run_stream if inspect.isasyncgenfunction(behavior) else self._run_coroutine
        streaming = kind.replace("unary", "stream", 1)
        return handler._replace(
            **{"request_streaming": True, kind: None, streaming: partial(run, behavior)}
        )

    async def _run_coroutine(
        self, behavior: Callable[..., Any], _requests: object, context: Context
    ) -> Any:
        return await behavior(await self._message(context), context)

    async def _run_stream(
        self, behavior: Callable[..., Any], _requests: object, context: Context
    ) -> AsyncGenerator[Any, None]:
        async with aclosing(behavior(await self._message(context), context)) as responses:
            async for response in responses:
                yield response

    async def _message(self, context: Context) -> Any:
        """Returns the message of a call. Raises AbortError if there is none."""
        if len(self._waiting) >= self._max_calls:
            oldest, _ = self._waiting.popitem(last=False)
            oldest.reschedule(0)
        timeout = asyncio.timeout(self._deadline_seconds)
        error: RosterError
        try:
            async with timeout:
                self._waiting[timeout] = None
                message = await context.read()
            if message is not EOF:
                return message
            error = undecodable_request()
        except TimeoutError:
            error = DeadlineExceeded() if timeout in self._waiting else Overloaded()
        finally:
            self._waiting.pop(timeout, None)
        enter_request(context, context.invocation_metadata() or ())
        return await abort(context, error)
