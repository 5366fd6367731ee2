"""Authorizes a call: checks the scope of its API key and the account's verified email.

A gateway that finds an error in an HTTP request sends it in metadata as a request fault, with an
empty request, instead of responding itself. So a client without a valid key learns nothing about
the contents of its request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.protobuf.message import DecodeError

from roster.v1 import errors_pb2

from ...features.accounts.rules import allows
from ..caller import current
from ..errors import (
    REQUEST_ERROR_METADATA,
    ApiKeyScopeTooBroad,
    Detail,
    EmailNotVerified,
    Forbidden,
    RosterError,
    ValidationError,
)
from .authenticate import FORM_KEY
from .base import Call, Interceptor

# The reasons of request faults.
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


class Authorize(Interceptor):
    """Raises Forbidden, ApiKeyScopeTooBroad or EmailNotVerified.

    Also raises the request fault of a gateway. A body that is too large, too slow or of the wrong
    media type is reported before the checks, and an invalid request after them.
    """

    def intercept(self, call: Call) -> None:
        fault = request_fault(call.metadata)
        if fault is not None and fault.reason != ValidationError.reason:
            raise fault
        if call.method.is_public:
            if fault is not None:
                raise fault
            return
        caller = current()
        if not allows(caller.scope, call.method.scope):
            raise Forbidden(neededScope=call.method.scope, scope=caller.scope)
        exceeds_scope = call.method.takes_forms and caller.scope != call.method.scope
        if exceeds_scope and any(name == FORM_KEY for name, _ in call.metadata):
            raise ApiKeyScopeTooBroad(neededScope=call.method.scope)
        if call.method.needs_verified_email and not caller.email_verified:
            raise EmailNotVerified
        if fault is not None:
            raise fault
