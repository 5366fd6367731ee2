"""What a handler, and the interceptors before it, are told of a call in the same process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import grpc
from grpc import aio

Metadata = tuple[tuple[str, str | bytes], ...]


class CallDetails(NamedTuple):
    """What an interceptor is told of a call; grpc.HandlerCallDetails in shape."""

    method: str
    invocation_metadata: Metadata


class Context(aio.ServicerContext[Any, Any]):
    """What a handler sees of its call."""

    # Set once the response has begun; None for a call that is not answered by a stream.
    begun: asyncio.Event | None = None

    def __init__(self, metadata: Metadata, deadline: float | None) -> None:
        self._metadata = metadata
        self._deadline = deadline
        self._code: grpc.StatusCode | None = None
        self._details = ""
        self.initial: Metadata = ()
        self.trailing: Metadata = ()

    def invocation_metadata(self) -> Metadata:  # type: ignore[override]
        return self._metadata

    def time_remaining(self) -> float | None:  # type: ignore[override]
        if self._deadline is None:
            return None
        return max(self._deadline - time.monotonic(), 0.0)

    async def abort(
        self, code: grpc.StatusCode, details: str = "", trailing_metadata: Any = ()
    ) -> NoReturn:
        self._code, self._details = code, details
        self.trailing = tuple(trailing_metadata) or self.trailing
        raise aio.AbortError

    async def abort_with_status(self, status: grpc.Status) -> NoReturn:
        await self.abort(status.code, status.details, status.trailing_metadata or ())

    async def send_initial_metadata(self, initial_metadata: Any) -> None:
        self.initial = tuple(initial_metadata)
        if self.begun is not None:
            self.begun.set()

    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        self.trailing = tuple(trailing_metadata)

    def set_code(self, code: grpc.StatusCode) -> None:
        self._code = code

    def set_details(self, details: str) -> None:
        self._details = details

    def code(self) -> grpc.StatusCode | None:  # type: ignore[override]
        return self._code

    def details(self) -> str:
        return self._details

    def trailing_metadata(self) -> Metadata:  # type: ignore[override]
        return self.trailing

    async def read(self) -> NoReturn:
        raise RuntimeError("requests come by the iterator that the handler is called with")

    async def write(self, message: Any) -> NoReturn:
        raise RuntimeError("responses go by what the handler returns or yields")

    def set_compression(self, compression: grpc.Compression) -> None:
        """Nothing is compressed on the way to the same process."""

    def disable_next_message_compression(self) -> None:
        """Nothing is compressed on the way to the same process."""

    def peer(self) -> str:
        return "in-process"

    def peer_identities(self) -> None:
        return None

    def peer_identity_key(self) -> None:
        return None

    def auth_context(self) -> Mapping[str, Any]:
        return {}
