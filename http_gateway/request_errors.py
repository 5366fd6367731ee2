"""Errors that the gateway finds in requests."""

from __future__ import annotations

from roster.v1 import errors_pb2

Reason = errors_pb2.Error.Reason
Code = errors_pb2.Error.Detail.Code

# The message of VALIDATION_ERROR.
INVALID_REQUEST = "The request is not valid."
# The most violations reported for one request, and the longest path in bytes. Both are limited
# because violations are sent in gRPC metadata, which is limited in size.
MAX_VIOLATIONS = 20
MAX_PATH = 120


class Violations:
    """The first MAX_VIOLATIONS violations of a request, each with its JSON path."""

    __slots__ = ("details",)

    def __init__(self) -> None:
        self.details: list[errors_pb2.Error.Detail] = []

    def add(self, path: str, code: str, message: str) -> None:
        """Adds a violation. `code` is the name of a value of Error.Detail.Code."""
        if len(self.details) < MAX_VIOLATIONS:
            detail = errors_pb2.Error.Detail(
                field=path.encode()[:MAX_PATH].decode(errors="ignore"),
                code=Code.Value(code),
                message=message,
            )
            self.details.append(detail)

    def __bool__(self) -> bool:
        return bool(self.details)


class RequestError(Exception):
    """A request that cannot be converted to a call.

    `close` closes the connection after the response, because the rest of the body was not read.
    """

    def __init__(self, error: errors_pb2.Error, *, close: bool = False) -> None:
        super().__init__(error.message)
        self.error = error
        self.close = close


def request_error(reason: str, message: str, *, close: bool = False) -> RequestError:
    """Returns an error of the whole request. `reason` names a value of Error.Reason."""
    return RequestError(errors_pb2.Error(reason=Reason.Value(reason), message=message), close=close)


def validation_error(violations: Violations) -> RequestError:
    """Returns the VALIDATION_ERROR that reports these violations."""
    error = request_error("VALIDATION_ERROR", INVALID_REQUEST)
    error.error.details.extend(violations.details)
    return error


def single_violation(code: str, message: str, path: str = "") -> RequestError:
    """Returns the VALIDATION_ERROR that reports one violation."""
    violations = Violations()
    violations.add(path, code, message)
    return validation_error(violations)


def join(path: str, key: str) -> str:
    """Returns the JSON path of a key within an object."""
    return f"{path}.{key}" if path else key
