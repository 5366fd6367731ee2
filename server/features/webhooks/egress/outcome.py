"""The outcome of an attempt, with an error text that reveals nothing about the network.

The owner of the webhook sees `error`. So it is one of a few constant texts, without addresses,
host names or texts of libraries.
"""

from __future__ import annotations

import errno
import logging
import re
import ssl
import traceback
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from aiohttp import ClientConnectorDNSError, ClientError, ClientResponseError

from .policy import BLOCKED, BlockedAddress

log = logging.getLogger(__name__)

TIMED_OUT = "timed out"
REFUSED = "connection refused"
NO_HOST = "no such host"
NO_TLS = "TLS failed"
LOST = "connection lost"
UNREACHABLE = "unreachable"
NOT_HTTP = "not HTTP"
REDIRECTED = "redirected"
FAILED = "failed"

_ERRNO_ERRORS = {
    errno.ECONNREFUSED: REFUSED,
    errno.ETIMEDOUT: TIMED_OUT,
    errno.ENETUNREACH: UNREACHABLE,
    errno.EHOSTUNREACH: UNREACHABLE,
}
# The first match is used. Other errors of a connection are LOST.
_EXCEPTION_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, TIMED_OUT),
    (ssl.SSLError, NO_TLS),
    (ClientConnectorDNSError, NO_HOST),
    (ClientResponseError, NOT_HTTP),
    (ClientError, LOST),
    (OSError, LOST),
)


class Outcome(NamedTuple):
    """The outcome of an attempt.

    `status` is None without a response, and `error` is empty on success. `retry_after` is in
    seconds, without a limit. `body` is the beginning of the response body.
    """

    status: int | None
    error: str
    retry_after: float | None
    milliseconds: int
    body: bytes


def error_for_status(status: int) -> str:
    """Returns the error for an HTTP status; empty for 2xx."""
    if 200 <= status <= 299:
        return ""
    if 300 <= status <= 399:
        return REDIRECTED
    return f"HTTP {status}"


def error_for_exception(error: Exception) -> str:
    """Returns the error for an exception, and logs unexpected exceptions."""
    if blocked_address(error):
        return BLOCKED
    cause = getattr(error, "os_error", error)
    if isinstance(cause, OSError) and cause.errno in _ERRNO_ERRORS:
        return _ERRNO_ERRORS[cause.errno]
    for kind, text in _EXCEPTION_ERRORS:
        if isinstance(error, kind):
            return text
    # Without the text of the exception, which may contain data of the receiver.
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error(
        "delivery failed with an unexpected error",
        extra={"exception": f"{trace}{type(error).__name__}"},
    )
    return FAILED


def blocked_address(error: Exception) -> BlockedAddress | None:
    """Returns the cause of an exception if it is a BlockedAddress."""
    cause = getattr(error, "os_error", error)
    return cause if isinstance(cause, BlockedAddress) else None


def retry_after(text: str | None, now: datetime) -> float | None:
    """Returns the seconds of a Retry-After header; None if it is missing or invalid."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,100}", text):
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())
