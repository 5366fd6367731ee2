"""A channel to a gRPC server in the same process.

It has grpc.aio's channel interface, and calls registered method handlers through the server's
interceptors, with deadlines, metadata, status and cancellation. `make bench` reports its
overhead per call.

It differs from a network channel in these points:

- Request messages are passed, not copied, so the server can modify them.
- The response of a unary call is passed as the handler returned it. Instead of a message it can be
  an object with a method `to_json`, which returns the ProtoJSON of the response, and with the
  attributes that the HTTP binding reads.
- A call runs in the task that awaits it. It starts when it is awaited, and ends if that task is
  canceled. Streams are read only as far as the other side asks for the next message.
- The interceptors of the server apply the deadline, which they read from `time_remaining`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import grpc
from grpc import aio

from .calls import MultiCallable
from .context import CallDetails
from .streamed import StreamCall, forward_requests
from .unary import Call


class StreamingMultiCallable(MultiCallable):
    """Makes calls of one client-streaming method."""

    def __call__(self, request: AsyncIterable[Any], **options: Any) -> Any:
        return super().__call__(forward_requests(request), **options)


class InProcessChannel(aio.Channel):
    """Calls handlers through interceptors, the first outermost.

    `register` adds the handlers. It is called with the channel instead of a grpc.aio.Server.
    """

    def __init__(
        self,
        register: Callable[[Any], None],
        interceptors: Sequence[aio.ServerInterceptor],
    ) -> None:
        self._handlers: dict[str, Any] = {}
        register(self)
        self._resolve: Callable[[CallDetails], Any] = self._handler
        for interceptor in reversed(interceptors):
            self._resolve = partial(interceptor.intercept_service, self._resolve)  # type: ignore[arg-type]

    def add_generic_rpc_handlers(self, handlers: Sequence[Any]) -> None:
        """Does nothing: generated code also calls `add_registered_method_handlers`."""

    def add_registered_method_handlers(self, service: str, handlers: Mapping[str, Any]) -> None:
        """Adds the handlers of a service."""
        for name, handler in handlers.items():
            self._handlers[f"/{service}/{name}"] = handler

    async def _handler(self, details: CallDetails) -> Any:
        return self._handlers.get(details.method)

    def unary_unary(self, method: str, *_arguments: Any, **_options: Any) -> Any:
        return MultiCallable(Call, self._resolve, method, "unary_unary")

    def unary_stream(self, method: str, *_arguments: Any, **_options: Any) -> Any:
        return MultiCallable(StreamCall, self._resolve, method, "unary_stream")

    def stream_unary(self, method: str, *_arguments: Any, **_options: Any) -> Any:
        return StreamingMultiCallable(Call, self._resolve, method, "stream_unary")

    def stream_stream(self, method: str, *_arguments: Any, **_options: Any) -> Any:
        return StreamingMultiCallable(StreamCall, self._resolve, method, "stream_stream")

    async def close(self, grace: float | None = None) -> None:
        """Does nothing."""

    def get_state(self, _try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return grpc.ChannelConnectivity.READY

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        if last_observed_state is grpc.ChannelConnectivity.READY:
            await asyncio.Event().wait()

    async def channel_ready(self) -> None:
        """The channel is always ready."""

    async def __aenter__(self) -> InProcessChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
