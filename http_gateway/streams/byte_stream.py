"""Responses of rpcs that return a stream of google.api.HttpBody: the pieces of one body.

The content type is that of the first piece. The service sends headers as initial metadata, of the
names in the policy. Two of them have a meaning here: with `content-range` the status is 206 (RFC
9110), and `x-content-length` is the number of bytes of the body, without which it is sent in
chunks. A stream without a piece, whose `etag` is in If-None-Match of the request, is 304. An error
before the first piece is a normal error response. A later error, or a body of another length,
aborts the connection, so that the client detects an incomplete body.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

from grpc.aio import AioRpcError

from ..ambiguous_failures import classify_failure
from ..channel.cancellation import cancellation_error
from ..headers import Metadata, response_headers
from ..request import Request
from ..responses import Response
from ..routing.bindings import Binding
from ..static_content import has_tag
from .response import StreamResponse

log = logging.getLogger(__name__)

CONTENT_LENGTH = "x-content-length"
CONTENT_RANGE = "content-range"
ETAG = "etag"
PARTIAL_CONTENT = 206
_UNKNOWN = "application/octet-stream"


async def respond(
    method: Any,
    message: Any,
    metadata: Metadata,
    seconds: float | None,
    binding: Binding,
    request: Request,
    request_id: str,
) -> StreamResponse | Response:
    """Makes the call and writes its response. Raises AioRpcError if it fails before that."""
    policy = request.options.policy
    call = method(message, metadata=metadata, timeout=seconds)
    response = StreamResponse(request, binding.success_status, request_id)
    pieces = aiter(call)
    try:
        try:
            piece = await anext(pieces, None)
            sent = dict(await call.initial_metadata() or ())
        except asyncio.CancelledError:
            cancellation = await cancellation_error(call)
            if cancellation is None:
                raise
            raise cancellation from None
        except AioRpcError as failed:
            raise classify_failure(failed, binding.method, metadata, policy) from failed
        if piece is None and ETAG in sent and has_tag(request, sent[ETAG]):
            return Response(304, request_id, more=response_headers(sent.items(), policy.headers))
        length = int(sent[CONTENT_LENGTH]) if CONTENT_LENGTH in sent else None
        if CONTENT_RANGE in sent:
            response.status = PARTIAL_CONTENT
        with suppress(ConnectionError):
            text = piece.content_type if piece is not None else ""
            is_valid = bool(text) and text.isascii() and text.isprintable()
            more = response_headers(sent.items(), policy.headers)
            await response.start(text if is_valid else _UNKNOWN, more, length)
            # The body of a response to HEAD is not read.
            while piece is not None and not response.is_head:
                data = piece.data
                del piece
                if data:
                    await response.write(data)
                piece = await anext(pieces, None)
            if response.is_head or length in (None, response.body_size):
                await response.end()
                return response
            log.error("a body has another length than stated", extra={"requestId": request_id})
    except AioRpcError:
        if not response.has_started:
            raise
    except Exception:
        if not response.has_started:
            raise
        log.exception("the gateway failed", extra={"requestId": request_id})
    finally:
        call.cancel()
    response.abort()
    return response
