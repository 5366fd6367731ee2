"""Maps UNAVAILABLE calls to HTTP errors by whether they may have taken effect.

A status with a reason was sent by the server, which says what became of the call. One without
a reason came from a server or a proxy that gives none, and is a 503 that promises nothing; or
from gRPC itself. If no connection could be made, nothing was changed, and the 503 says so. If
the connection was lost during a call that changes something, the outcome is unknown: a 500, so
that no client takes it for a promise. If a call is retried, only the last attempt shows how it
failed; an earlier one may have been sent.
"""

from __future__ import annotations

import re

from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor
from grpc import StatusCode
from grpc.aio import AioRpcError
from roster.client import repeats

from .errors import reason_of
from .headers import IDEMPOTENCY_KEY, Metadata
from .request_errors import RequestError, request_error

# How gRPC's messages begin if there was no connection for a call, and if one was lost during
# it. If gRPC changes the words, a call becomes a 503 that promises nothing: less than is known,
# but true.
_NEVER_SENT = re.compile(
    "connections to all backends failing|failed to connect to all addresses|DNS resolution failed"
)
_LOST = re.compile(
    "Stream removed|Socket closed|Broken pipe|GOAWAY|Endpoint closing|RST_STREAM|Cancelling all"
    "|Connection reset|(Client )?[Tt]ransport closed|[Pp]ing timeout|[Kk]eepalive"
    # Envoy's, and that of a proxy that answers with an HTTP status.
    "|upstream connect error or disconnect|Received http2 header with status"
)
_NOT_REACHED = "The service cannot be reached. Nothing was changed; try again later."
_UNKNOWN = (
    "The connection to the service was lost, and it is unknown whether this request took effect."
    " A request with an Idempotency-Key can be retried safely."
)


def classify_failure(
    failed: AioRpcError, method: MethodDescriptor, metadata: Metadata
) -> AioRpcError | RequestError:
    """Returns the error to raise for a failed call of a method, made with this metadata."""
    if failed.code() is not StatusCode.UNAVAILABLE or reason_of(failed):
        return failed
    text = failed.details() or ""
    was_never_sent = _NEVER_SENT.match(text) is not None
    may_be_sent = _is_retried(method, metadata) if was_never_sent else _LOST.match(text)
    if may_be_sent and has_effect(method):
        return request_error("INTERNAL", _UNKNOWN)
    return request_error("UNAVAILABLE", _NOT_REACHED) if was_never_sent else failed


def _is_retried(method: MethodDescriptor, metadata: Metadata) -> bool:
    """Whether a call may have been sent more than once."""
    has_key = any(name == IDEMPOTENCY_KEY for name, _ in metadata)
    return repeats.is_repeatable(method) and (has_key or not repeats.takes_key(method))


def has_effect(method: MethodDescriptor) -> bool:
    """Whether a method changes something."""
    options = method.GetOptions()
    if options.idempotency_level == options.NO_SIDE_EFFECTS:
        return False
    return bool(options.Extensions[annotations_pb2.http].WhichOneof("pattern") != "get")
