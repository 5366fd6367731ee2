"""Error responses that the gateway sends itself, without a call."""

from __future__ import annotations

import logging

from . import errors
from .request_errors import request_error
from .request_ids import new_request_id
from .responses import Response

log = logging.getLogger(__name__)


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
    return errors.response(error, request_id, more, close=close)


def connection_error(reason: str, message: str) -> Response:
    """Returns an error response that closes the connection, sent before a request was parsed.

    Logs the status and the generated request ID, and nothing that the client sent.
    """
    request_id = new_request_id()
    response = error_response(reason, message, request_id, close=True)
    log.info("rejected without a call", extra={"status": response.status, "requestId": request_id})
    return response
