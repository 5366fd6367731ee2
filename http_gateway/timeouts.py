"""Reads Grpc-Timeout: how long a client gives its call, in the notation of gRPC over HTTP/2.

The value is a positive integer of at most eight digits and a unit: hours, minutes, seconds,
milliseconds, microseconds or nanoseconds. It can shorten the deadline that a call has anyway and
never lengthens it. The time counts from the start of the call, which for a call with one request
is when its body has arrived. A timeout too short for any call ends with DeadlineExceeded before
the caller is authenticated.
"""

from __future__ import annotations

import re

from aiohttp import web

from .request_errors import request_error, single_violation

HEADER = "Grpc-Timeout"
_FORM = re.compile(r"(?!0+[HMSmun])([0-9]{1,8})([HMSmun])")
_SECONDS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}
# Hours of eight digits are eleven thousand years, for which gRPC's own clock is too small.
MAX_SECONDS = 365 * 24 * 3600.0
# What gRPC's own clock would round up: a call could then be made, though its time was over.
MIN_SECONDS = 1e-3


def given(request: web.BaseRequest) -> float | None:
    """Returns the seconds that a client gives its call, at most a year; None if it does not say.

    Raises RequestError for a header that says nothing clear, since whoever sets a
    deadline relies on it, and DEADLINE_EXCEEDED for less time than a call could need.
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
