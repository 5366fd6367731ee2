"""Reads the header Grpc-Timeout, the timeout of a call in the format of gRPC over HTTP/2.

The value is a positive integer of at most eight digits and a unit: hours, minutes, seconds,
milliseconds, microseconds or nanoseconds. It can shorten the default deadline of a call, not
lengthen it. The time starts with the call, for a call with one request after its body has
arrived. A timeout that is too short for any call fails with DeadlineExceeded before the caller
is authenticated.
"""

from __future__ import annotations

import re

from aiohttp import web

from .request_errors import request_error, single_violation

HEADER = "Grpc-Timeout"
_FORM = re.compile(r"(?!0+[HMSmun])([0-9]{1,8})([HMSmun])")
_SECONDS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
# Longer timeouts overflow gRPC's clock.
MAX_SECONDS = 365 * 24 * 3600.0
# gRPC rounds shorter timeouts up, and would make a call after its deadline.
MIN_SECONDS = 1e-3


def timeout_of(request: web.BaseRequest) -> float | None:
    """Returns the timeout in seconds, at most a year; None without the header.

    Raises RequestError: VALIDATION_ERROR if the header is invalid, and DEADLINE_EXCEEDED if the
    timeout is shorter than MIN_SECONDS.
    """
    if HEADER not in request.headers:
        return None
    values = request.headers.getall(HEADER)
    match = _FORM.fullmatch(values[0])
    if match is None or len(values) > 1:
        raise single_violation(
            "INVALID_FORMAT",
            "must be a positive integer of at most eight digits and one of H, M, S, m, u, n",
            HEADER,
        )
    seconds = int(match[1]) * _SECONDS[match[2]]
    if seconds < MIN_SECONDS:
        raise request_error("DEADLINE_EXCEEDED", "The deadline passed before the call started.")
    return min(seconds, MAX_SECONDS)
