"""Lists the error reasons of an rpc.

An rpc declares its specific reasons in `fails_with`. The others are derived from its options
and HTTP binding.
"""

from __future__ import annotations

from collections.abc import Iterator

from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor

from roster.v1 import errors_pb2, http_pb2

_REASON = errors_pb2.Error.Reason
_EVERY_CALL = (
    "VALIDATION_ERROR",
    "RATE_LIMITED",
    "INTERNAL",
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    # Any request can have a body, if only to be rejected.
    "REQUEST_TIMEOUT",
    "UNSUPPORTED_MEDIA_TYPE",
)
_WITH_IDEMPOTENCY_KEY = (
    "IDEMPOTENCY_KEY_IN_USE",
    "IDEMPOTENCY_KEY_REUSED",
    "IDEMPOTENT_RESPONSE_ERASED",
)


def reasons_of(method: MethodDescriptor) -> list[str]:
    """Returns the names of the reasons for which a call over HTTP can fail."""
    return list(dict.fromkeys(_reasons(method)))


def _reasons(method: MethodDescriptor) -> Iterator[str]:
    options = method.GetOptions()
    access = options.Extensions[http_pb2.access]
    yield from _EVERY_CALL
    if not access.public:
        yield "UNAUTHORIZED"
    # No scope is included in all others, so every scope can be missing.
    if access.scope:
        yield "FORBIDDEN"
    if access.verified_email:
        yield "EMAIL_NOT_VERIFIED"
    yield from (_REASON.Name(number) for number in options.Extensions[http_pb2.fails_with])
    # A stream is unbounded; a record that is too long is a VALIDATION_ERROR.
    if not method.client_streaming:
        yield "PAYLOAD_TOO_LARGE"
    if takes_idempotency_key(method):
        yield from _WITH_IDEMPOTENCY_KEY


def takes_idempotency_key(method: MethodDescriptor) -> bool:
    """Whether an rpc supports idempotency keys.

    It does if it is a POST that is neither idempotent nor a stream, or an update that can create
    the resource (AIP-134). Keys belong to an account, so a public rpc does not.
    """
    options = method.GetOptions()
    is_idempotent = options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
    if is_idempotent or options.Extensions[http_pb2.access].public:
        return False
    creates = options.Extensions[annotations_pb2.http].post or "allow_missing" in (
        method.input_type.fields_by_name
    )
    return bool(creates) and not method.client_streaming
