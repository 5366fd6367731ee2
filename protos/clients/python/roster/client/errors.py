"""Decodes the status of a failed call into an Error, the message that HTTP sends as JSON."""

from __future__ import annotations

from typing import cast

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from ..v1.errors_pb2 import Error


def error_of(error: grpc.RpcError) -> Error:
    """Returns the reason, message, details and request ID of a failed call.

    The reason is REASON_UNSPECIFIED if the server sent none, or one unknown to this client, and
    if the call did not reach the server. In these cases, use `error.code()`.
    """
    call = cast(grpc.Call, error)
    status = rpc_status.from_call(call)
    if status is None:
        return Error(message=call.details() or "")
    decoded = Error(message=status.message)
    for packed in status.details:
        info, request, fault = (
            error_details_pb2.ErrorInfo(),
            error_details_pb2.RequestInfo(),
            error_details_pb2.BadRequest(),
        )
        if packed.Unpack(info) and info.reason in Error.Reason.DESCRIPTOR.values_by_name:
            decoded.reason = Error.Reason.Value(info.reason)
        elif packed.Unpack(request):
            decoded.request_id = request.request_id
        elif packed.Unpack(fault):
            decoded.details.extend(_detail(violation) for violation in fault.field_violations)
    return decoded


def _detail(violation: error_details_pb2.BadRequest.FieldViolation) -> Error.Detail:
    decoded = Error.Detail(field=violation.field, message=violation.description)
    if violation.reason in Error.Detail.Code.DESCRIPTOR.values_by_name:
        decoded.code = Error.Detail.Code.Value(violation.reason)
    return decoded
