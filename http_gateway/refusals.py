"""What the gateway refuses by itself, without a call: in the one shape, and with a line in the log.

The line has the status and the request id, by which a client's report is found. It has
nothing that the client sent: even a path may hold somebody's address.
"""

from __future__ import annotations

import logging

from roster.v1 import errors_pb2

from . import errors
from .answers import Answer
from .faults import Reason

log = logging.getLogger(__name__)


def refusal(
    reason: str,
    message: str,
    request_id: str,
    more: dict[str, str] | None = None,
    *,
    close: bool = False,
) -> Answer:
    """Returns the answer, and notes it. `reason` names a value of Error.Reason."""
    error = errors_pb2.Error(reason=Reason.Value(reason), message=message)
    answer = errors.response(error, request_id, more, close=close)
    log.info("refused without a call", extra={"status": answer.status, "requestId": request_id})
    return answer
