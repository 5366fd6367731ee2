"""Adds the API key, a deadline and, if supported, an idempotency key to every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import grpc

from .repeats import keyed

IDEMPOTENCY_KEY = "idempotency-key"

Metadata = tuple[tuple[str, str | bytes], ...]
Proceed = Callable[[Any, Any], Any]


def completed(key: str, path: str, given: Iterable[tuple[str, str | bytes]] | None) -> Metadata:
    """Returns the metadata of a call, including the given metadata.

    All attempts of the call have the same idempotency key.
    """
    metadata = [*(given or ()), ("authorization", f"Bearer {key}")]
    if path in keyed() and all(name != IDEMPOTENCY_KEY for name, _ in metadata):
        metadata.append((IDEMPOTENCY_KEY, uuid4().hex))
    return tuple(metadata)


@dataclass(frozen=True)
class Details(grpc.ClientCallDetails):
    """The call details passed between gRPC interceptors."""

    method: str
    timeout: float | None
    metadata: Metadata | None
    credentials: grpc.CallCredentials | None
    wait_for_ready: bool | None
    compression: grpc.Compression | None


class Caller(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Completes all kinds of calls; `deadline` applies to unary calls."""

    def __init__(self, key: str, deadline: float | None) -> None:
        self._key = key
        self._deadline = deadline

    def intercept_unary_unary(
        self, continuation: Proceed, client_call_details: grpc.ClientCallDetails, request: Any
    ) -> Any:
        return continuation(self._completed(client_call_details, self._deadline), request)

    def intercept_unary_stream(
        self, continuation: Proceed, client_call_details: grpc.ClientCallDetails, request: Any
    ) -> Any:
        return continuation(self._completed(client_call_details), request)

    def intercept_stream_unary(
        self,
        continuation: Proceed,
        client_call_details: grpc.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return continuation(self._completed(client_call_details), request_iterator)

    def intercept_stream_stream(
        self,
        continuation: Proceed,
        client_call_details: grpc.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return continuation(self._completed(client_call_details), request_iterator)

    def _completed(self, call: grpc.ClientCallDetails, deadline: float | None = None) -> Details:
        return Details(
            call.method,
            deadline if call.timeout is None else call.timeout,
            completed(self._key, call.method, call.metadata),
            call.credentials,
            call.wait_for_ready,
            call.compression,
        )
