"""Forwarding of the W3C trace context."""

from __future__ import annotations

from multidict import CIMultiDict, CIMultiDictProxy

from rosterd.http_gateway.traces import trace_of

from ..cases import each

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
# The most members of a state.
MOST = ",".join(f"k{number}=1" for number in range(32))
STATE = "congo=t61rcWkgMzE,rojo@acme=00f067aa0ba902b7"


def forwarded(*headers: tuple[str, str]) -> dict[str, str]:
    return dict(trace_of(CIMultiDictProxy(CIMultiDict(headers))))


@each(
    "parent",
    {
        "sampled": PARENT,
        "not sampled": PARENT[:-2] + "00",
        "later version": "cc" + PARENT[2:],
        "later version with more fields": "cc" + PARENT[2:] + "-more",
    },
)
def test_valid_parent_is_forwarded(parent: str) -> None:
    assert forwarded(("Traceparent", parent)) == {"traceparent": parent}


@each(
    "parents",
    {
        "empty": [""],
        "upper case": [PARENT.upper()],
        "version ff": ["ff" + PARENT[2:]],
        "version 00 with more fields": [PARENT + "-00"],
        "later version without a dash": ["cc" + PARENT[2:] + "x"],
        "too long": ["cc" + PARENT[2:] + "-" + "x" * 99],
        "no trace": [PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32)],
        "line break": [PARENT + "\n"],
        "other digits": [PARENT.replace("1", "١")],
        "two": [PARENT, PARENT],
        "none": [],
    },
)
def test_other_parents_are_ignored_with_their_state(parents: list[str]) -> None:
    sent = [("traceparent", parent) for parent in parents]

    assert forwarded(*sent, ("tracestate", STATE)) == {}


@each(
    ("states", "expected"),
    [
        ([STATE], STATE),
        (["0a@b=x y"], "0a@b=x y"),
        (["a=1 , b=2"], "a=1 , b=2"),
        ([MOST], MOST),
        (["a=1", "b=2"], "a=1,b=2"),
        *(
            ([malformed], None)
            for malformed in (
                *("", "a", "a=1,a=2", "a=é", "a=\x7f", "a=1;b=2\r\nX: y", "a=" + "x" * 257),
                f"{MOST},k32=1",
                ",".join(f"k{number}={'x' * 90}" for number in range(6)),
            )
        ),
    ],
)
def test_valid_states_are_joined_and_forwarded_with_their_parent(
    states: list[str], expected: str | None
) -> None:
    sent = [("traceparent", PARENT), *(("tracestate", state) for state in states)]

    more = {} if expected is None else {"tracestate": expected}
    assert forwarded(*sent) == {"traceparent": PARENT, **more}
