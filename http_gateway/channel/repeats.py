"""Determines from the protos which calls can be repeated."""

from __future__ import annotations

from google.api import annotations_pb2
from google.protobuf.descriptor import MethodDescriptor


def is_repeatable(method: MethodDescriptor) -> bool:
    """Whether a repeated call has the same effect and response as one call.

    A repeated deletion would fail with NOT_FOUND.
    """
    options = method.GetOptions()
    verb = options.Extensions[annotations_pb2.http].WhichOneof("pattern")
    return verb in ("get", "put") or options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
