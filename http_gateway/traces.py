"""Reads the headers of W3C Trace Context. Malformed headers are ignored.

A request is not rejected for a malformed trace context, and the server does not receive it.
"""

from __future__ import annotations

import re

from multidict import CIMultiDictProxy

PARENT, STATE = "traceparent", "tracestate"
# The format of version 00. Later versions can have more fields at the end; ff is no version.
_PARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?"
)
_KEY = r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
_VALUE = r"[ -+\--<>-~]{0,255}[!-+\--<>-~]"
_MEMBER = re.compile(f"{_KEY}={_VALUE}")
MAX_PARENT, MAX_STATE, MAX_MEMBERS = 128, 512, 32


def trace_of(headers: CIMultiDictProxy[str]) -> tuple[tuple[str, str], ...]:
    """Returns the trace context of a request; empty if it has none, or a malformed one."""
    parents = headers.getall(PARENT, ())
    if len(parents) != 1 or not _is_parent(parents[0]):
        return ()
    state = ",".join(headers.getall(STATE, ()))
    if not _is_state(state):
        return ((PARENT, parents[0]),)
    return ((PARENT, parents[0]), (STATE, state))


def _is_parent(text: str) -> bool:
    match = _PARENT.fullmatch(text) if len(text) <= MAX_PARENT else None
    return match is not None and not (match[1] == "00" and match[2])


def _is_state(text: str) -> bool:
    """Whether a text is a list of members with distinct keys."""
    if len(text) > MAX_STATE:
        return False
    members = [member for item in text.split(",") if (member := item.strip(" \t"))]
    keys = {member.partition("=")[0] for member in members}
    return 0 < len(members) == len(keys) <= MAX_MEMBERS and all(map(_MEMBER.fullmatch, members))
