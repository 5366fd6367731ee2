"""Adds metadata and deadlines to calls for asyncio, which has one interceptor per kind of call."""

from __future__ import annotations

from typing import Any

import grpc.aio
from grpc.aio import ClientCallDetails, ClientInterceptor

from . import aio_requests
from .calls import Proceed, completed


class _Caller:
    """The base class of the interceptors."""

    def __init__(self, key: str, deadline: float | None = None) -> None:
        self._key = key
        self._deadline = deadline

    def _completed(self, call: ClientCallDetails) -> ClientCallDetails:
        path = call.method.decode() if isinstance(call.method, bytes) else call.method
        return ClientCallDetails(
            call.method,
            self._deadline if call.timeout is None else call.timeout,
            grpc.aio.Metadata(*completed(self._key, path, call.metadata)),
            call.credentials,
            call.wait_for_ready,
        )

    async def _streamed(
        self, continuation: Proceed, details: ClientCallDetails, requests: Any
    ) -> Any:
        call = await continuation(self._completed(details), None)
        aio_requests.write(call, requests)
        return call


class _UnaryUnary(_Caller, grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(
        self, continuation: Proceed, client_call_details: ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(self._completed(client_call_details), request)


class _UnaryStream(_Caller, grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(
        self, continuation: Proceed, client_call_details: ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(self._completed(client_call_details), request)


class _StreamUnary(_Caller, grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(
        self, continuation: Proceed, client_call_details: ClientCallDetails, request_iterator: Any
    ) -> Any:
        return await self._streamed(continuation, client_call_details, request_iterator)


class _StreamStream(_Caller, grpc.aio.StreamStreamClientInterceptor):
    async def intercept_stream_stream(
        self, continuation: Proceed, client_call_details: ClientCallDetails, request_iterator: Any
    ) -> Any:
        return await self._streamed(continuation, client_call_details, request_iterator)


def callers(key: str, deadline: float | None) -> list[ClientInterceptor]:
    """Returns interceptors for all kinds of calls; `deadline` applies to unary calls."""
    return [_UnaryUnary(key, deadline), _UnaryStream(key), _StreamUnary(key), _StreamStream(key)]
