"""Reads the request fault of a call: an error that a gateway found in an HTTP request.

The gateway sends it in metadata, with an empty request, instead of responding itself. So a
client without a valid key learns nothing about the contents of its request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from roster.v1 import errors_pb2

from ..errors import REQUEST_ERROR_METADATA, Detail, RosterError

_REASONS = frozenset(
    {"VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE", "REQUEST_TIMEOUT"}
)


class RequestFault(RosterError):
    """The error that a gateway found in an HTTP request."""

    def __init__(self, reason: str, message: str, details: Sequence[Detail]) -> None:
        self.reason, self.message, self.details = reason, message, details
        super().__init__()


def request_fault(metadata: Any) -> RequestFault | None:
    """Returns the request fault of a call, or None if there is none or it is malformed."""
    for name, value in metadata:
        if name == REQUEST_ERROR_METADATA and isinstance(value, bytes):
            return _parse(value)
    return None


def _parse(value: bytes) -> RequestFault | None:
    try:
        error = errors_pb2.Error.FromString(value)
        reason = errors_pb2.Error.Reason.Name(error.reason)
        codes = [errors_pb2.Error.Detail.Code.Name(detail.code) for detail in error.details]
    except (DecodeError, ValueError):
        return None
    if reason not in _REASONS:
        return None
    details = [
        Detail(detail.field, code, detail.message)
        for detail, code in zip(error.details, codes, strict=True)
    ]
    return RequestFault(reason, error.message, details)
