"""Decodes the status of a failed call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import grpc
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from ..v1.errors_pb2 import Error


@dataclass
class CallFailure:
    """Why a call failed: the fields of `Error`, and the variables of its message by name.

    `Error` lists the names in `metadata`, such as limit and retryAfterSeconds.
    """

    message: str
    reason: Error.Reason.ValueType = Error.REASON_UNSPECIFIED
    details: Sequence[Error.Detail] = ()
    request_id: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


def error_of(error: grpc.RpcError) -> CallFailure:
    """Returns the reason, message, details, request ID and metadata of a failed call.

    The reason is REASON_UNSPECIFIED if the server sent none, or one unknown to this client, and
    if the call did not reach the server. In these cases, use `error.code()`.
    """
    call = cast(grpc.Call, error)
    status = rpc_status.from_call(call)
    if status is None:
        return CallFailure(call.details() or "")
    decoded = CallFailure(status.message)
    for packed in status.details:
        info, request, fault = (
            error_details_pb2.ErrorInfo(),
            error_details_pb2.RequestInfo(),
            error_details_pb2.BadRequest(),
        )
        if packed.Unpack(info):
            decoded.metadata = dict(info.metadata)
            if info.reason in Error.Reason.DESCRIPTOR.values_by_name:
                decoded.reason = Error.Reason.Value(info.reason)
        elif packed.Unpack(request):
            decoded.request_id = request.request_id
        elif packed.Unpack(fault):
            decoded.details = [_detail(violation) for violation in fault.field_violations]
    return decoded


def _detail(violation: error_details_pb2.BadRequest.FieldViolation) -> Error.Detail:
    decoded = Error.Detail(field=violation.field, message=violation.description)
    if violation.reason in Error.Detail.Code.DESCRIPTOR.values_by_name:
        decoded.code = Error.Detail.Code.Value(violation.reason)
    return decoded
