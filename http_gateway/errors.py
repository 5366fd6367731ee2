"""Maps the failure of a call to an HTTP error: one table, one shape.

A status with google.rpc.ErrorInfo of the domain "roster" keeps its reason, its message and
the violations of its google.rpc.BadRequest. The HTTP status of a known reason is written in
errors.proto. A server may be newer than this gateway: the HTTP status of an unknown reason
is that of the gRPC code, as google.rpc.Code documents it.

Any other status comes from gRPC itself, from a proxy or from a handler that gives no reason.
Its message may name addresses, classes or limits of the server, so it is never passed on: the
code and the message are those of the gRPC code in the table below.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import orjson
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_status import rpc_status
from roster.v1 import errors_pb2

from . import headers
from .request_errors import INVALID_REQUEST, Code, Reason
from .responses import CANCELLED, Response

log = logging.getLogger(__name__)

DOMAIN = "roster"
FAILED = "An internal error occurred. See the server log for this request ID."


@dataclass(frozen=True, slots=True)
class Detail:
    """One violation of a request: its JSON path, its code and a sentence for people."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error as it is sent over HTTP; `code` is the reason in Pascal case."""

    status: int
    code: str
    message: str
    details: Sequence[Detail] = ()


INTERNAL = HttpError(500, "Internal", FAILED)
_CODES = {
    StatusCode.CANCELLED: HttpError(CANCELLED, "Cancelled", "The call was canceled."),
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
# gRPC reports messages and metadata over a limit by RESOURCE_EXHAUSTED and these words, those
# of its C core and of the servers in Go and Java. Its code alone is a quota, 429. A response
# that this gateway or the server refuses to pass on is a failure of theirs, never the client's.
_RESPONSE_TOO_LARGE = re.compile(
    r"CLIENT: Received message larger|SERVER: Sent message larger|trying to send message larger"
    r"|Stream removed \(received metadata size exceeds"
)
_REQUEST_TOO_LARGE = re.compile(
    r"[Mm]essage larger than max|message exceeds maximum size|received metadata size exceeds"
)
_TOO_LARGE_RESPONSE = HttpError(500, "Internal", "The response of the service is too large.")
_TOO_LARGE_REQUEST = HttpError(413, "PayloadTooLarge", "The request is too large.")

# The names of reasons and of the codes of violations, as google.rpc.ErrorInfo bounds them. A
# name that says nothing is no reason.
_NAME = re.compile(r"(?!\w+_UNSPECIFIED$)[A-Z][A-Z0-9_]{0,62}", re.ASCII)
_REASONS = frozenset(Reason.keys()[1:])


def error_of(failure: AioRpcError) -> HttpError:
    """Returns the HTTP error of a failed call.

    Details that cannot be parsed, or that contradict the status of the call, are ignored.
    """
    try:
        status = rpc_status.from_call(failure)  # type: ignore[arg-type]
        return _error(failure, status or status_pb2.Status())
    except (DecodeError, ValueError):
        log.warning("the details of a failed call cannot be read")
        return _error(failure, status_pb2.Status())


def reason_of(failure: AioRpcError) -> str:
    """Returns the reason that the server gave for a failed call; empty if it gave none."""
    try:
        status = rpc_status.from_call(failure)  # type: ignore[arg-type]
        return _reason(status or status_pb2.Status())
    except (DecodeError, ValueError):
        return ""


def _error(failure: AioRpcError, status: status_pb2.Status) -> HttpError:
    error, details = _without_reason(failure), _details(status)
    reason = _reason(status)
    if not reason:
        return HttpError(error.status, error.code, error.message, details)
    status_code = http_status(Reason.Value(reason)) if reason in _REASONS else error.status
    return HttpError(status_code, error_code_of(reason), status.message, details)


def _without_reason(failure: AioRpcError) -> HttpError:
    if failure.code() is StatusCode.RESOURCE_EXHAUSTED:
        text = failure.details() or ""
        if _RESPONSE_TOO_LARGE.search(text):
            return _TOO_LARGE_RESPONSE
        if _REQUEST_TOO_LARGE.search(text):
            return _TOO_LARGE_REQUEST
    return _CODES[failure.code()]


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


def of(error: errors_pb2.Error) -> HttpError:
    """Returns an error of this gateway as it is sent over HTTP."""
    details = [Detail(each.field, Code.Name(each.code), each.message) for each in error.details]
    code = error_code_of(Reason.Name(error.reason))
    return HttpError(http_status(error.reason), code, error.message, details)


def failure(failed: AioRpcError, request_id: str, *, close: bool = False) -> Response:
    """Returns the response for a failed call."""
    more = headers.returned(failed.trailing_metadata() or ())
    return response(error_of(failed), request_id, more, close=close)


def response(
    error: HttpError,
    request_id: str,
    more: dict[str, str] | None = None,
    *,
    close: bool = False,
) -> Response:
    """Returns the response for an error, in the shape of all error responses."""
    if error.status == 401:
        more = {"WWW-Authenticate": "Bearer", **(more or {})}
    return Response(error.status, request_id, written(error, request_id), more=more, close=close)


def written(error: HttpError, request_id: str) -> bytes:
    """Returns an error as the JSON that it is sent in."""
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
    """Returns the status that errors.proto gives to a reason."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_number[reason]
    return int(value.GetOptions().Extensions[errors_pb2.error_mapping].http)


def error_code_of(reason: str) -> str:
    """Returns the code of a reason: VALIDATION_ERROR is ValidationError."""
    return "".join(word.capitalize() for word in reason.split("_"))
