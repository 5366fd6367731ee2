"""The headers of W3C Trace Context: passed on if they are well-formed, else as if not sent.

A trace that was badly named somewhere on the way is not worth refusing a request
for; to pass it on would spoil the traces of whoever reads it next.
"""

from __future__ import annotations

import re

from multidict import CIMultiDictProxy

PARENT, STATE = "traceparent", "tracestate"
# What version 00 has; a later version may say more at the end. Version ff there is none.
_PARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?"
)
_KEY = r"(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
_VALUE = r"[ -+\--<>-~]{0,255}[!-+\--<>-~]"
_MEMBER = re.compile(f"{_KEY}={_VALUE}")
MAX_PARENT, MAX_STATE, MAX_MEMBERS = 128, 512, 32


def trace_of(headers: CIMultiDictProxy[str]) -> tuple[tuple[str, str], ...]:
    """Returns the trace context that a request carries; nothing where it has none, or a bad one."""
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
    """Whether a text is a list of members with keys of their own."""
    if len(text) > MAX_STATE:
        return False
    members = [member for each in text.split(",") if (member := each.strip(" \t"))]
    keys = {member.partition("=")[0] for member in members}
    return 0 < len(members) == len(keys) <= MAX_MEMBERS and all(map(_MEMBER.fullmatch, members))
