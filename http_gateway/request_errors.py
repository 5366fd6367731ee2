"""Errors in HTTP, and those that the gateway finds in requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The statuses of the reasons for which the gateway itself rejects requests.
STATUSES = {
    "VALIDATION_ERROR": 400,
    "CROSS_ORIGIN_REQUEST": 403,
    "HTTPS_REQUIRED": 403,
    "ROUTE_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "REQUEST_TIMEOUT": 408,
    "RESPONSE_NOT_READ": 408,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "INTERNAL": 500,
    "METHOD_NOT_IMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
# The message of VALIDATION_ERROR.
INVALID_REQUEST = "The request is not valid."
# The most violations reported for one request, and the longest path in bytes. Both are limited
# because violations are sent in gRPC metadata, which is limited in size.
MAX_VIOLATIONS = 20
MAX_PATH = 120
# Retry-After of a request that a server of an earlier version cannot process.
SKEW_RETRY_SECONDS = 10
# The unknown names of a request for which a known one is suggested, which takes time.
MAX_SUGGESTIONS = 3


@dataclass(slots=True)
class Detail:
    """One violation of a request, in the field with a JSON path."""

    field: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error in HTTP.

    `more` are other details of a service, in ProtoJSON. `retry_after` is in seconds; 0 for none.
    """

    status: int
    reason: str
    message: str
    details: Sequence[Detail] = ()
    more: Sequence[Mapping[str, Any]] = ()
    retry_after: int = 0

    @property
    def code(self) -> str:
        """The code in JSON."""
        return error_code_of(self.reason)


def error_code_of(reason: str) -> str:
    """Returns the code of a reason: ValidationError for VALIDATION_ERROR."""
    return "".join(word.capitalize() for word in reason.split("_"))


class Violations:
    """The first MAX_VIOLATIONS violations of a request, each with its JSON path.

    With `suggests`, the first ones of unknown names suggest a known one.
    """

    __slots__ = ("_suggestions", "details")

    def __init__(self, *, suggests: bool = True) -> None:
        self.details: list[Detail] = []
        self._suggestions = MAX_SUGGESTIONS if suggests else 0

    def add(self, path: str, code: str, message: str) -> None:
        """Adds a violation."""
        if len(self.details) < MAX_VIOLATIONS:
            field = path.encode()[:MAX_PATH].decode(errors="ignore")
            self.details.append(Detail(field, code, message))

    def add_unknown(self, path: str, message: str, suggestion: Callable[[], str]) -> None:
        """Adds a violation of an unknown name. `suggestion` returns the end of the message."""
        if self._suggestions:
            self._suggestions -= 1
            message += suggestion()
        self.add(path, "UNKNOWN_FIELD", message)

    def __bool__(self) -> bool:
        return bool(self.details)


class RequestError(Exception):
    """A request that cannot be converted to a call.

    `close` closes the connection after the response, because the rest of the body was not read.
    """

    def __init__(self, error: HttpError, *, close: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.close = close


def request_error(
    reason: str, message: str, details: Sequence[Detail] = (), *, close: bool = False
) -> RequestError:
    """Returns an error of the whole request. `reason` is one of STATUSES."""
    return RequestError(HttpError(STATUSES[reason], reason, message, details), close=close)


def server_too_old(part: str, details: Sequence[Detail] = ()) -> HttpError:
    """Returns the error of a request with a part that the server does not have.

    The servers of a deployment are updated one after another, so a later attempt can succeed.
    """
    message = (
        f"The server is of an earlier version than this gateway and does not have {part}. The"
        " request was not processed; try again when the server is updated."
    )
    shown = details[:MAX_VIOLATIONS]
    return HttpError(503, "UNAVAILABLE", message, shown, retry_after=SKEW_RETRY_SECONDS)


def validation_error(violations: Violations) -> RequestError:
    """Returns the VALIDATION_ERROR that reports these violations."""
    return request_error("VALIDATION_ERROR", INVALID_REQUEST, violations.details)


def single_violation(code: str, message: str, path: str = "") -> RequestError:
    """Returns the VALIDATION_ERROR that reports one violation."""
    violations = Violations()
    violations.add(path, code, message)
    return validation_error(violations)


def join(path: str, key: str) -> str:
    """Returns the JSON path of a key within an object."""
    return f"{path}.{key}" if path else key
