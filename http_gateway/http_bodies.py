"""Responses of rpcs that return google.api.HttpBody: its data, with its content type.

A failed call of such an rpc can have an HttpBody in its google.rpc.Status details, which is sent
instead of the JSON of the error.
"""

from __future__ import annotations

from collections.abc import Mapping

from google.api import httpbody_pb2
from google.protobuf.message import DecodeError
from grpc.aio import AioRpcError
from grpc_status import rpc_status

from . import errors
from .body import is_unread
from .compression import compress
from .policy import Policy
from .request import Request
from .responses import Response
from .routing.bindings import Binding

# The media type of a body without a valid one.
_UNKNOWN = "application/octet-stream"


async def success_response(
    body: httpbody_pb2.HttpBody,
    binding: Binding,
    request: Request,
    request_id: str,
    more: dict[str, str],
) -> Response:
    """Returns the response for an HttpBody. Text is compressed."""
    close = is_unread(request)
    response = Response(binding.success_status, request_id, more=more, close=close)
    _set_body(response, body)
    if response.content_type.startswith("text/"):
        await compress(response, request)
    return response


def call_error_response(
    failed: AioRpcError,
    request_id: str,
    policy: Policy,
    in_headers: Mapping[str, str],
    *,
    with_body: bool,
    close: bool = False,
) -> Response:
    """Returns the error response of a failed call, with its HttpBody if there is one."""
    response = errors.call_error_response(failed, request_id, policy, in_headers, close=close)
    body = _body_of(failed) if with_body else None
    if body is not None:
        _set_body(response, body)
    return response


def _body_of(failed: AioRpcError) -> httpbody_pb2.HttpBody | None:
    """Returns the HttpBody in the details of a failed call; None if they have none."""
    body = httpbody_pb2.HttpBody()
    try:
        status = rpc_status.from_call(failed)  # type: ignore[arg-type]
        if status is not None and any(packed.Unpack(body) for packed in status.details):
            return body
    except (DecodeError, ValueError):
        # The details are invalid or contradict the status, which is already in the log.
        return None
    return None


def _set_body(response: Response, body: httpbody_pb2.HttpBody) -> None:
    text = body.content_type
    is_valid = text.isascii() and text.isprintable() and bool(text)
    response.body, response.content_type = body.data, text if is_valid else _UNKNOWN
