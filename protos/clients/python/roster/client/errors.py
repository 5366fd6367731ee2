"""What a refused call was told, as the message that HTTP callers read in JSON."""

from __future__ import annotations

from typing import cast

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from ..v1.errors_pb2 import Error


def error_of(error: grpc.RpcError) -> Error:
    """Returns the reason of a call's failure, its message, its faults and its request id.

    The reason is REASON_UNSPECIFIED where the service gave none that is known here, and where
    the call did not get there; the code of the error itself then tells more.
    """
    call = cast(grpc.Call, error)
    status = rpc_status.from_call(call)
    if status is None:
        return Error(message=call.details() or "")
    told = Error(message=status.message)
    for packed in status.details:
        info, request, fault = (
            error_details_pb2.ErrorInfo(),
            error_details_pb2.RequestInfo(),
            error_details_pb2.BadRequest(),
        )
        if packed.Unpack(info) and info.reason in Error.Reason.DESCRIPTOR.values_by_name:
            told.reason = Error.Reason.Value(info.reason)
        elif packed.Unpack(request):
            told.request_id = request.request_id
        elif packed.Unpack(fault):
            told.details.extend(_detail(violation) for violation in fault.field_violations)
    return told


def _detail(violation: error_details_pb2.BadRequest.FieldViolation) -> Error.Detail:
    told = Error.Detail(field=violation.field, message=violation.description)
    if violation.reason in Error.Detail.Code.DESCRIPTOR.values_by_name:
        told.code = Error.Detail.Code.Value(violation.reason)
    return told
