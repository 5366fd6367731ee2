"""From what a call failed with to an HTTP answer: one table, one shape.

The status of a reason is written in errors.proto. A failure without a reason
comes from the transport, between this gateway and the server; the second table
gives it one.
"""

from __future__ import annotations

import logging
from functools import cache

import orjson
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_status import rpc_status
from roster.v1 import errors_pb2

from . import headers
from .answers import Answer
from .faults import Code, Reason

log = logging.getLogger(__name__)

_TRANSPORT = {
    StatusCode.UNAVAILABLE: ("UNAVAILABLE", "The service cannot be reached now; try again."),
    StatusCode.DEADLINE_EXCEEDED: ("DEADLINE_EXCEEDED", "The deadline of this call passed."),
    StatusCode.RESOURCE_EXHAUSTED: ("PAYLOAD_TOO_LARGE", "The request is too large."),
    StatusCode.UNIMPLEMENTED: ("ROUTE_NOT_FOUND", "There is no such operation."),
}
FAILED = "The service failed. Its log tells more under the request id."
_UNKNOWN = ("INTERNAL", FAILED)
# The first of each says nothing, and has no status.
_REASONS = frozenset(Reason.keys()[1:])
_CODES = frozenset(Code.keys()[1:])


def error_of(failure: AioRpcError) -> errors_pb2.Error:
    """Returns what a failed call is to be told over HTTP.

    Details that cannot be read, or that contradict the call's own status, are as good as none.
    """
    try:
        status = rpc_status.from_call(failure)  # type: ignore[arg-type]
        return _told(failure, status or status_pb2.Status())
    except (DecodeError, ValueError):
        log.warning("the details of a failed call cannot be read")
        return _told(failure, status_pb2.Status())


def _told(failure: AioRpcError, status: status_pb2.Status) -> errors_pb2.Error:
    reason, message = _TRANSPORT.get(failure.code(), _UNKNOWN)
    error = errors_pb2.Error(reason=Reason.Value(reason), message=message)
    for packed in status.details:
        if packed.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            packed.Unpack(info)
            # A reason that this gateway does not know yet keeps what its code says.
            if info.reason in _REASONS:
                error.reason, error.message = Reason.Value(info.reason), status.message
        elif packed.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            request = error_details_pb2.BadRequest()
            packed.Unpack(request)
            for violation in request.field_violations:
                code = violation.reason if violation.reason in _CODES else "INVALID_VALUE"
                error.details.add(
                    field=violation.field,
                    code=Code.Value(code),
                    message=violation.description,
                )
    return error


def failure(failed: AioRpcError, request_id: str, *, close: bool = False) -> Answer:
    """Returns the answer for a failed call."""
    more = headers.returned(failed.trailing_metadata() or ())
    return response(error_of(failed), request_id, more, close=close)


def response(
    error: errors_pb2.Error,
    request_id: str,
    more: dict[str, str] | None = None,
    *,
    close: bool = False,
) -> Answer:
    """Returns the answer for an error, in the one shape that errors have."""
    if error.reason == Reason.Value("UNAUTHORIZED"):
        more = {"WWW-Authenticate": "Bearer", **(more or {})}
    body = written(error, request_id)
    return Answer(http_status(error.reason), request_id, body, more=more, close=close)


def written(error: errors_pb2.Error, request_id: str) -> bytes:
    """Returns an error as the JSON that it is told in."""
    return orjson.dumps({"error": _body(error, request_id)})


def _body(error: errors_pb2.Error, request_id: str) -> dict[str, object]:
    body: dict[str, object] = {
        "code": pascal(Reason.Name(error.reason)),
        "message": error.message,
        "details": [
            {"field": detail.field, "code": Code.Name(detail.code), "message": detail.message}
            for detail in error.details
        ],
        "requestId": request_id,
    }
    return body


@cache
def http_status(reason: errors_pb2.Error.Reason.ValueType) -> int:
    """Returns the status that errors.proto gives to a reason."""
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_number[reason]
    return int(value.GetOptions().Extensions[errors_pb2.error_mapping].http)


def pascal(reason: str) -> str:
    """Returns the code of a reason: VALIDATION_ERROR is ValidationError."""
    return "".join(word.capitalize() for word in reason.split("_"))
