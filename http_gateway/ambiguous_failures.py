"""Maps UNAVAILABLE calls to HTTP errors, depending on whether they may have taken effect.

- A status with a reason was sent by the server and is passed on.
- If no connection could be made, nothing was changed, and the 503 says so.
- If the connection was lost during a call that changes something, the outcome is unknown. The
  response is a 500, because clients take a 503 to mean that nothing was changed.
- Any other status came from a server or proxy that gives no reason: a plain 503.

Of a call that gRPC retries, only the failure of the last attempt is known. An earlier attempt
may have been sent.
"""

from __future__ import annotations

import re

from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor
from grpc import StatusCode
from grpc.aio import AioRpcError

from .errors import reason_of
from .headers import IDEMPOTENCY_KEY, Metadata
from .policy import IdempotencyPolicy, Policy
from .request_errors import RequestError, request_error

# Messages of gRPC for a call without a connection, and for one that lost its connection. If
# gRPC changes them, such calls become a plain 503.
_NEVER_SENT = re.compile(
    "connections to all backends failing|failed to connect to all addresses|DNS resolution failed"
)
_LOST = re.compile(
    "Stream removed|Socket closed|Broken pipe|GOAWAY|Endpoint closing|RST_STREAM|Cancelling all"
    "|Connection reset|(Client )?[Tt]ransport closed|[Pp]ing timeout|[Kk]eepalive"
    # Envoy, and proxies that respond with an HTTP status.
    "|upstream connect error or disconnect|Received http2 header with status"
)
_NOT_REACHED = "The service cannot be reached. Nothing was changed; try again later."
_UNKNOWN = (
    "The connection to the service was lost, and it is unknown whether this request took effect."
    " A request with an Idempotency-Key can be retried safely."
)


def classify_failure(
    failed: AioRpcError, method: MethodDescriptor, metadata: Metadata, policy: Policy
) -> AioRpcError | RequestError:
    """Returns the error to raise for a failed call of a method, made with this metadata."""
    if failed.code() is not StatusCode.UNAVAILABLE or reason_of(failed, policy.errors):
        return failed
    text = failed.details() or ""
    was_never_sent = _NEVER_SENT.match(text) is not None
    was_lost = _LOST.match(text) is not None
    is_retried = was_never_sent and _is_retried(method, metadata, policy.idempotency)
    if (was_lost or is_retried) and has_effect(method):
        return request_error("INTERNAL", _UNKNOWN)
    return request_error("UNAVAILABLE", _NOT_REACHED) if was_never_sent else failed


def _is_retried(method: MethodDescriptor, metadata: Metadata, policy: IdempotencyPolicy) -> bool:
    """Whether gRPC may have sent a call more than once."""
    has_key = any(name == IDEMPOTENCY_KEY for name, _ in metadata)
    return is_repeatable(method) or (has_key and policy.takes_key(method))


def has_effect(method: MethodDescriptor) -> bool:
    """Whether a method changes something."""
    options = method.GetOptions()
    if options.idempotency_level == options.NO_SIDE_EFFECTS:
        return False
    return bool(options.Extensions[annotations_pb2.http].WhichOneof("pattern") != "get")


def is_repeatable(method: MethodDescriptor) -> bool:
    """Whether a repeated call has the same effect and response as one call.

    A repeated deletion would fail with NOT_FOUND.
    """
    options = method.GetOptions()
    verb = options.Extensions[annotations_pb2.http].WhichOneof("pattern")
    return verb in ("get", "put") or options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
