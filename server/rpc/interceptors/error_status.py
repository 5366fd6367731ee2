"""Turns errors into gRPC statuses with google.rpc details.

errors.proto declares the status code of each reason.
"""

from __future__ import annotations

from functools import cache
from math import ceil
from typing import NoReturn

from google.api.httpbody_pb2 import HttpBody
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc import StatusCode
from grpc_status import rpc_status

from roster.v1 import errors_pb2

from .. import caller
from ..errors import DOMAIN, MAX_DETAILS, RosterError
from ..messages import HTML, Context
from .base import add_trailing_metadata
from .observe import enter_request

# Details are sent in metadata, whose size is limited. Each text has at least so many bytes, and
# more if there are fewer than MAX_DETAILS details.
MIN_DETAIL_BYTES = 120


async def abort(context: Context, error: RosterError) -> NoReturn:
    """Ends the call with the status and details of an error. Always raises."""
    request_id = caller.request_id()
    status = rpc_status.to_status(status_of(error, request_id))
    add_trailing_metadata(context, *(status.trailing_metadata or ()))
    if error.retry_after is not None:
        add_trailing_metadata(
            context,
            # HTTP allows whole seconds only.
            ("retry-after", str(max(1, ceil(error.retry_after)))),
            # Retries of gRPC clients wait that long (gRFC A6).
            ("grpc-retry-pushback-ms", str(ceil(error.retry_after * 1000))),
        )
    await context.abort(status.code, status.details)


async def abort_unobserved(context: Context, error: RosterError) -> NoReturn:
    """Ends a call that `Observe` has not received. Always raises."""
    enter_request(context, context.invocation_metadata() or ())
    await abort(context, error)


def status_of(error: RosterError, request_id: str) -> status_pb2.Status:
    """Returns an error as google.rpc.Status with ErrorInfo and RequestInfo.

    It also has BadRequest if the error has details, RetryInfo if it has `retry_after`, and
    HttpBody if it has a page.
    """
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=error.metadata)
    details: list[Message] = [info]
    if error.details:
        faults = error.details[:MAX_DETAILS]
        max_bytes = MIN_DETAIL_BYTES * MAX_DETAILS // len(faults)
        details.append(
            error_details_pb2.BadRequest(
                field_violations=[
                    error_details_pb2.BadRequest.FieldViolation(
                        field=_truncate(detail.field, max_bytes),
                        description=_truncate(detail.message, max_bytes),
                        reason=detail.code,
                    )
                    for detail in faults
                ]
            )
        )
    if error.retry_after is not None:
        delay = Duration()
        delay.FromMilliseconds(ceil(error.retry_after * 1000))
        details.append(error_details_pb2.RetryInfo(retry_delay=delay))
    if error.page:
        details.append(HttpBody(content_type=HTML, data=error.page))
    details.append(error_details_pb2.RequestInfo(request_id=request_id))
    packed = []
    for detail in details:
        packed.append(AnyMessage())
        packed[-1].Pack(detail)
    return status_pb2.Status(code=_code(error.reason), message=error.message, details=packed)


def _truncate(text: str, max_bytes: int) -> str:
    """Limits a text to a number of bytes of UTF-8."""
    if len(text) <= max_bytes // 4:
        return text
    return text.encode()[:max_bytes].decode(errors="ignore")


@cache
def _code(reason: str) -> int:
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[reason]
    code = value.GetOptions().Extensions[errors_pb2.error_mapping].grpc
    assert StatusCode[code_pb2.Code.Name(code)]
    return int(code)
