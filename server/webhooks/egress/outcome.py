"""What came of one attempt to deliver an event, told in words that give nothing away.

The one who owns a webhook reads `error`; so it is one of a few constant texts, without
an address, a name or anything that a library said.
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
# The first that fits is told. Whatever else a connection ends with, it is lost.
_EXCEPTION_ERRORS: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, TIMED_OUT),
    (ssl.SSLError, NO_TLS),
    (ClientConnectorDNSError, NO_HOST),
    (ClientResponseError, NOT_HTTP),
    (ClientError, LOST),
    (OSError, LOST),
)


class Outcome(NamedTuple):
    """What an attempt came to.

    `status` is None without an answer, and `error` is empty after a success.
    `retry_after` is what the receiver asks for, in seconds, however many; `answer` is the
    beginning of the answer's body as it was sent.
    """

    status: int | None
    error: str
    retry_after: float | None
    milliseconds: int
    body: bytes


def error_for_status(status: int) -> str:
    """Returns the error that a status means; empty for a success, which is any of 2xx."""
    if 200 <= status <= 299:
        return ""
    if 300 <= status <= 399:
        return REDIRECTED
    return f"answered {status}"


def error_for_exception(error: Exception) -> str:
    """Returns the text for whatever an attempt failed with, and logs what nobody foresaw."""
    if blocked(error):
        return BLOCKED
    cause = getattr(error, "os_error", error)
    if isinstance(cause, OSError) and cause.errno in _ERRNO_ERRORS:
        return _ERRNO_ERRORS[cause.errno]
    for kind, text in _EXCEPTION_ERRORS:
        if isinstance(error, kind):
            return text
    # Without the error's own text, which may repeat what the receiver said.
    trace = "".join(traceback.format_tb(error.__traceback__))
    log.error(
        "a delivery failed as none should", extra={"error": type(error).__name__, "trace": trace}
    )
    return FAILED


def blocked(error: Exception) -> BlockedAddress | None:
    """Returns what was refused, if that is what an attempt failed with."""
    cause = getattr(error, "os_error", error)
    return cause if isinstance(cause, BlockedAddress) else None


def retry_after(text: str | None, now: datetime) -> float | None:
    """Returns the seconds that a Retry-After header asks for; None for none and for nonsense."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,100}", text):
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
