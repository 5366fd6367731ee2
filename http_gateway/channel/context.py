"""The context of a call of the in-process channel, for interceptors and behaviors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import grpc
from grpc import aio

Metadata = tuple[tuple[str, str | bytes], ...]


class CallDetails(NamedTuple):
    """Has the fields of grpc.HandlerCallDetails."""

    method: str
    invocation_metadata: Metadata


class Context(aio.ServicerContext[Any, Any]):
    """The servicer context of a call."""

    # Set when the response of a streaming call has started; None for other calls.
    started: asyncio.Event | None = None
    initial: Metadata = ()
    trailing: Metadata = ()
    _code: grpc.StatusCode | None = None
    _details = ""

    def __init__(self, metadata: Metadata, deadline: float | None) -> None:
        self._metadata = metadata
        self._deadline = deadline

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
        if self.started is not None:
            self.started.set()

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
        raise RuntimeError("read requests from the iterator that is passed to the method")

    async def write(self, _message: Any) -> NoReturn:
        raise RuntimeError("return or yield responses from the method")

    def set_compression(self, compression: grpc.Compression) -> None:
        """Has no effect within a process."""

    def disable_next_message_compression(self) -> None:
        """Has no effect within a process."""

    def peer(self) -> str:
        return "in-process"

    def peer_identities(self) -> None:
        return None

    def peer_identity_key(self) -> None:
        return None

    def auth_context(self) -> Mapping[str, Any]:
        return {}
