"""Maps failed calls to HTTP errors.

A status with a google.rpc.ErrorInfo of the service's domain keeps its reason, its message and the
violations of its google.rpc.BadRequest. The policy has the HTTP status of each reason. A server can
be newer than this gateway: an unknown reason gets the HTTP status that google.rpc.Code documents
for the gRPC code. It can also be of an earlier version: this gateway has all rpcs and fields that
it calls, so a server that does not have one is reported as unavailable.

Any other status comes from gRPC itself, from a proxy or from a handler that gives no reason. Its
message can contain addresses, classes or limits of the server. If the domain of the service is
known, it is not passed on, and the code and the message depend on the gRPC code only. Otherwise
the message is passed on if the status has details, or a code that gRPC itself does not send.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_status import rpc_status

from . import headers
from .codec.scalars import NoJsonForm
from .codec.transcode import writer
from .policy import ErrorPolicy, Policy
from .request_errors import (
    INVALID_REQUEST,
    Detail,
    HttpError,
    error_code_of,
    request_error,
    server_too_old,
)
from .request_ids import new_request_id
from .responses import CLIENT_CLOSED_REQUEST, Response, json_body

log = logging.getLogger(__name__)

INTERNAL = HttpError(
    500, "INTERNAL", "An internal error occurred. See the server log for this request ID."
)
_CODES = {
    StatusCode.CANCELLED: HttpError(CLIENT_CLOSED_REQUEST, "CANCELLED", "The call was canceled."),
    StatusCode.UNKNOWN: INTERNAL,
    StatusCode.INVALID_ARGUMENT: HttpError(400, "VALIDATION_ERROR", INVALID_REQUEST),
    StatusCode.DEADLINE_EXCEEDED: HttpError(
        504, "DEADLINE_EXCEEDED", "The deadline of the call was exceeded."
    ),
    StatusCode.NOT_FOUND: HttpError(404, "NOT_FOUND", "The resource does not exist."),
    StatusCode.ALREADY_EXISTS: HttpError(409, "ALREADY_EXISTS", "The resource already exists."),
    StatusCode.PERMISSION_DENIED: HttpError(
        403, "FORBIDDEN", "The caller does not have permission."
    ),
    StatusCode.UNAUTHENTICATED: HttpError(401, "UNAUTHORIZED", "Valid credentials are required."),
    StatusCode.RESOURCE_EXHAUSTED: HttpError(
        429, "RESOURCE_EXHAUSTED", "A quota or rate limit was exceeded. Try again later."
    ),
    StatusCode.FAILED_PRECONDITION: HttpError(
        400, "FAILED_PRECONDITION", "The system is not in the state that this operation requires."
    ),
    StatusCode.ABORTED: HttpError(
        409, "ABORTED", "The operation conflicts with a concurrent one. Try again."
    ),
    StatusCode.OUT_OF_RANGE: HttpError(
        400, "OUT_OF_RANGE", "A value in the request is out of range."
    ),
    StatusCode.UNIMPLEMENTED: HttpError(
        501, "METHOD_NOT_IMPLEMENTED", "The service does not implement this operation."
    ),
    StatusCode.INTERNAL: INTERNAL,
    StatusCode.UNAVAILABLE: HttpError(
        503, "UNAVAILABLE", "The service is unavailable. Try again later."
    ),
    StatusCode.DATA_LOSS: INTERNAL,
}
# gRPC reports messages and metadata over a limit as RESOURCE_EXHAUSTED with these messages of
# its C core and of the servers in Go and Java. The code without them is an exceeded quota, 429.
# A response that is too large is an error of the service, not of the client.
_RESPONSE_TOO_LARGE = re.compile(
    r"CLIENT: Received message larger|SERVER: Sent message larger|trying to send message larger"
    r"|Stream removed \(received metadata size exceeds"
)
_REQUEST_TOO_LARGE = re.compile(
    r"[Mm]essage larger than max|message exceeds maximum size|received metadata size exceeds"
)
_TOO_LARGE_RESPONSE = HttpError(500, "INTERNAL", "The response of the service is too large.")
_TOO_LARGE_REQUEST = HttpError(413, "PAYLOAD_TOO_LARGE", "The request is too large.")

# Reasons and codes of violations, as google.rpc.ErrorInfo restricts them, without zero values.
_NAME = re.compile(r"(?!\w+_UNSPECIFIED$)[A-Z][A-Z0-9_]{0,62}", re.ASCII)
# The codes that only services send. gRPC itself and proxies send the others too.
_CODES_OF_SERVICES = {
    StatusCode.INVALID_ARGUMENT,
    StatusCode.NOT_FOUND,
    StatusCode.ALREADY_EXISTS,
    StatusCode.FAILED_PRECONDITION,
    StatusCode.ABORTED,
    StatusCode.OUT_OF_RANGE,
}
# The details with a place of their own in a response.
_KNOWN_DETAILS = ("google.rpc.BadRequest", "google.api.HttpBody")
_write_detail = writer(AnyMessage.DESCRIPTOR)


def call_error(failed: AioRpcError, policy: ErrorPolicy) -> HttpError:
    """Returns the HTTP error of a failed call."""
    error, server_error = _error_of_code(failed), _status_details(failed, policy)
    if server_error.reason in policy.of_earlier_server:
        part = "a field of this request" if server_error.details else "this operation"
        return server_too_old(part, server_error.details)
    error = replace(error, details=server_error.details, more=server_error.more)
    if server_error.reason:
        status = policy.statuses.get(server_error.reason, error.status)
        return replace(
            error, status=status, reason=server_error.reason, message=server_error.message
        )
    is_own = server_error.more or server_error.details or failed.code() in _CODES_OF_SERVICES
    message = failed.details() if policy.domain is None and is_own else None
    return replace(error, message=message) if message else error


def errors_without_reason(policy: ErrorPolicy) -> list[HttpError]:
    """Returns the errors of gRPC codes whose code in HTTP is not that of a reason."""
    codes = set(map(error_code_of, policy.statuses))
    errors = {error.code: error for error in _CODES.values()}
    return [error for code, error in errors.items() if code not in codes]


def reason_of(failed: AioRpcError, policy: ErrorPolicy) -> str:
    """Returns the reason that the server gave for a failed call; empty if it gave none."""
    return _status_details(failed, policy).reason


class _StatusDetails(NamedTuple):
    """The details of a failed call; empty if they are invalid or contradict its status."""

    reason: str = ""
    message: str = ""
    details: Sequence[Detail] = ()
    more: Sequence[Any] = ()


def _status_details(failed: AioRpcError, policy: ErrorPolicy) -> _StatusDetails:
    try:
        status = rpc_status.from_call(failed)  # type: ignore[arg-type]
        if status is not None:
            reason = _reason(status, policy.domain)
            more = () if policy.domain else _other_details(status)
            return _StatusDetails(reason, status.message, _details(status), more)
    except (DecodeError, ValueError):
        log.warning("the details of a failed call cannot be read")
    return _StatusDetails()


def _error_of_code(failed: AioRpcError) -> HttpError:
    if failed.code() is StatusCode.RESOURCE_EXHAUSTED:
        text = failed.details() or ""
        if _RESPONSE_TOO_LARGE.search(text):
            return _TOO_LARGE_RESPONSE
        if _REQUEST_TOO_LARGE.search(text):
            return _TOO_LARGE_REQUEST
    return _CODES[failed.code()]


def _reason(status: status_pb2.Status, domain: str | None) -> str:
    info = error_details_pb2.ErrorInfo()
    for packed in status.details:
        is_known = packed.Unpack(info) and domain in (None, info.domain)
        if is_known and _NAME.fullmatch(info.reason):
            return str(info.reason)
    return ""


def _details(status: status_pb2.Status) -> list[Detail]:
    request = error_details_pb2.BadRequest()
    return [
        Detail(
            violation.field,
            violation.reason if _NAME.fullmatch(violation.reason) else "INVALID_VALUE",
            violation.description,
        )
        for packed in status.details
        if packed.Unpack(request)
        for violation in request.field_violations
    ]


def _other_details(status: status_pb2.Status) -> list[Any]:
    """Returns the details that have a JSON form here, except those with a place of their own."""
    details = []
    for packed in status.details:
        if packed.TypeName() not in _KNOWN_DETAILS:
            with suppress(NoJsonForm):
                details.append(_write_detail(packed))
    return details


def call_error_response(
    failed: AioRpcError,
    request_id: str,
    policy: Policy,
    in_headers: Mapping[str, str] = MappingProxyType({}),
    *,
    close: bool = False,
) -> Response:
    """Returns the response for a failed call.

    `in_headers` are the headers that carry fields of the request, by the JSON name of the field.
    """
    more = headers.response_headers(failed.trailing_metadata() or (), policy.headers)
    error = call_error(failed, policy.errors)
    for detail in error.details:
        # An unknown field was sent as a member of the body, not as the header.
        if detail.code != "UNKNOWN_FIELD":
            detail.field = in_headers.get(detail.field, detail.field)
    return response(error, request_id, more, close=close)


def response(
    error: HttpError,
    request_id: str,
    more: dict[str, str] | None = None,
    *,
    close: bool = False,
) -> Response:
    """Returns the response for an error."""
    if error.status == 401:
        more = {"WWW-Authenticate": "Bearer", **(more or {})}
    if error.retry_after:
        more = {"Retry-After": str(error.retry_after), **(more or {})}
    body = json_body(as_json(error, request_id))
    return Response(error.status, request_id, body, more=more, close=close)


def as_json(error: HttpError, request_id: str) -> dict[str, Any]:
    body = {
        "code": error.code,
        "message": error.message,
        "details": [
            {"field": detail.field, "code": detail.code, "message": detail.message}
            for detail in error.details
        ]
        + list(error.more),
        "requestId": request_id,
    }
    return {"error": body}


def error_response(
    reason: str,
    message: str,
    request_id: str,
    more: dict[str, str] | None = None,
    *,
    close: bool = False,
) -> Response:
    """Returns an error response. `reason` is one of STATUSES."""
    error = request_error(reason, message).error
    return response(error, request_id, more, close=close)


def connection_error(reason: str, message: str) -> Response:
    """Returns an error response that closes the connection, sent before a request was parsed.

    Logs the status and the generated request ID, and nothing that the client sent.
    """
    request_id = new_request_id()
    rejection = error_response(reason, message, request_id, close=True)
    log.info("rejected without a call", extra={"status": rejection.status, "requestId": request_id})
    return rejection
