"""Maps failed calls to HTTP errors.

A status with a google.rpc.ErrorInfo of this domain keeps its reason, its message and the
violations of its google.rpc.BadRequest. errors.proto defines the HTTP status of each reason. A
server can be newer than this gateway: an unknown reason gets the HTTP status that
google.rpc.Code documents for the gRPC code.

Any other status comes from gRPC itself, from a proxy or from a handler that gives no reason.
Its message can contain addresses, classes or limits of the server, so it is never passed on.
The code and the message then depend on the gRPC code only.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import orjson
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_status import rpc_status

from roster.v1 import errors_pb2

from . import headers
from .request_errors import INVALID_REQUEST, Code, Reason
from .responses import CLIENT_CLOSED_REQUEST, Response

log = logging.getLogger(__name__)

# The domain of the reasons in errors.proto: the first part of its package.
DOMAIN = errors_pb2.DESCRIPTOR.package.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Detail:
    """One violation of a request, in the field with a JSON path."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error in HTTP; `code` is the reason in Pascal case."""

    status: int
    code: str
    message: str
    details: Sequence[Detail] = ()


INTERNAL = HttpError(
    500, "Internal", "An internal error occurred. See the server log for this request ID."
)
_CODES = {
    StatusCode.CANCELLED: HttpError(CLIENT_CLOSED_REQUEST, "Cancelled", "The call was canceled."),
    StatusCode.UNKNOWN: INTERNAL,
    StatusCode.INVALID_ARGUMENT: HttpError(400, "ValidationError", INVALID_REQUEST),
    StatusCode.DEADLINE_EXCEEDED: HttpError(
        504, "DeadlineExceeded", "The deadline of the call was exceeded."
    ),
    StatusCode.NOT_FOUND: HttpError(404, "NotFound", "The resource does not exist."),
    StatusCode.ALREADY_EXISTS: HttpError(409, "AlreadyExists", "The resource already exists."),
    StatusCode.PERMISSION_DENIED: HttpError(
        403, "Forbidden", "The caller does not have permission."
    ),
    StatusCode.UNAUTHENTICATED: HttpError(401, "Unauthorized", "Valid credentials are required."),
    StatusCode.RESOURCE_EXHAUSTED: HttpError(
        429, "ResourceExhausted", "A quota or rate limit was exceeded. Try again later."
    ),
    StatusCode.FAILED_PRECONDITION: HttpError(
        400, "FailedPrecondition", "The system is not in the state that this operation requires."
    ),
    StatusCode.ABORTED: HttpError(
        409, "Aborted", "The operation conflicts with a concurrent one. Try again."
    ),
    StatusCode.OUT_OF_RANGE: HttpError(
        400, "OutOfRange", "A value in the request is out of range."
    ),
    StatusCode.UNIMPLEMENTED: HttpError(
        501, "MethodNotImplemented", "The service does not implement this operation."
    ),
    StatusCode.INTERNAL: INTERNAL,
    StatusCode.UNAVAILABLE: HttpError(
        503, "Unavailable", "The service is unavailable. Try again later."
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
_TOO_LARGE_RESPONSE = HttpError(500, "Internal", "The response of the service is too large.")
_TOO_LARGE_REQUEST = HttpError(413, "PayloadTooLarge", "The request is too large.")

# Reasons and codes of violations, as google.rpc.ErrorInfo restricts them, without zero values.
_NAME = re.compile(r"(?!\w+_UNSPECIFIED$)[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_REASONS = frozenset(Reason.keys()[1:])


def call_error(failed: AioRpcError) -> HttpError:
    """Returns the HTTP error of a failed call."""
    error, server_error = _error_of_code(failed), _status_details(failed)
    if not server_error.reason:
        return HttpError(error.status, error.code, error.message, server_error.details)
    known = server_error.reason in _REASONS
    status = http_status(Reason.Value(server_error.reason)) if known else error.status
    return HttpError(
        status, error_code_of(server_error.reason), server_error.message, server_error.details
    )


def errors_without_reason() -> list[HttpError]:
    """Returns the errors of gRPC codes whose code in HTTP is not that of a reason."""
    codes = set(map(error_code_of, _REASONS))
    return [error for error in _CODES.values() if error.code not in codes]


def reason_of(failed: AioRpcError) -> str:
    """Returns the reason that the server gave for a failed call; empty if it gave none."""
    return _status_details(failed).reason


class _StatusDetails(NamedTuple):
    """The details of a failed call; empty if they are invalid or contradict its status."""

    reason: str = ""
    message: str = ""
    details: Sequence[Detail] = ()


def _status_details(failed: AioRpcError) -> _StatusDetails:
    try:
        status = rpc_status.from_call(failed)  # type: ignore[arg-type]
        if status is not None:
            return _StatusDetails(_reason(status), status.message, _details(status))
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


def _reason(status: status_pb2.Status) -> str:
    info = error_details_pb2.ErrorInfo()
    for packed in status.details:
        if packed.Unpack(info) and info.domain == DOMAIN and _NAME.fullmatch(info.reason):
            return str(info.reason)
    return ""


def _details(status: status_pb2.Status) -> list[Detail]:
    request = error_details_pb2.BadRequest()
    return [
        Detail(violation.field, _code(violation.reason), violation.description)
        for packed in status.details
        if packed.Unpack(request)
        for violation in request.field_violations
    ]


def _code(reason: str) -> str:
    return reason if _NAME.fullmatch(reason) else "INVALID_VALUE"


def http_error(error: errors_pb2.Error) -> HttpError:
    """Returns the HTTP error for an error that the gateway found."""
    details = [
        Detail(detail.field, Code.Name(detail.code), detail.message) for detail in error.details
    ]
    code = error_code_of(Reason.Name(error.reason))
    return HttpError(http_status(error.reason), code, error.message, details)


def call_error_response(failed: AioRpcError, request_id: str, *, close: bool = False) -> Response:
    more = headers.response_headers(failed.trailing_metadata() or ())
    return response(call_error(failed), request_id, more, close=close)


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
    return Response(error.status, request_id, to_json(error, request_id), more=more, close=close)


def to_json(error: HttpError, request_id: str) -> bytes:
    body = {
        "code": error.code,
        "message": error.message,
        "details": [
            {"field": detail.field, "code": detail.code, "message": detail.message}
            for detail in error.details
        ],
        "requestId": request_id,
    }
    return orjson.dumps({"error": body})


@cache
def http_status(reason: errors_pb2.Error.Reason.ValueType) -> int:
    """Returns the HTTP status of a reason from errors.proto."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_number[reason]
    return int(value.GetOptions().Extensions[errors_pb2.error_mapping].http)


def error_code_of(reason: str) -> str:
    """Returns the code of a reason: ValidationError for VALIDATION_ERROR."""
    return "".join(word.capitalize() for word in reason.split("_"))
