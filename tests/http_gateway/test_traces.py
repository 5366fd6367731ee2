"""Forwarding of the W3C trace context."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from rosterd.http_gateway.traces import trace_of

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
STATE = "congo=t61rcWkgMzE,rojo@acme=00f067aa0ba902b7"


def forwarded(*headers: tuple[str, str]) -> dict[str, str]:
    return dict(trace_of(CIMultiDictProxy(CIMultiDict(headers))))


@pytest.mark.parametrize(
    "parent",
    [
        PARENT,
        PARENT[:-2] + "00",
        "cc" + PARENT[2:],
        "cc" + PARENT[2:] + "-more",
    ],
    ids=["sampled", "not sampled", "later version", "later version with more fields"],
)
def test_valid_parent_is_forwarded(parent: str) -> None:
    assert forwarded(("Traceparent", parent)) == {"traceparent": parent}


@pytest.mark.parametrize(
    "parent",
    [
        pytest.param("", id="empty"),
        pytest.param(PARENT.upper(), id="upper case"),
        pytest.param("ff" + PARENT[2:], id="version ff"),
        pytest.param(PARENT + "-00", id="version 00 with more fields"),
        pytest.param("cc" + PARENT[2:] + "x", id="later version without a dash"),
        pytest.param("cc" + PARENT[2:] + "-" + "x" * 99, id="too long"),
        pytest.param(PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32), id="no trace"),
        pytest.param(PARENT + "\n", id="line break"),
        pytest.param(PARENT.replace("1", "١"), id="other digits"),
    ],
)
def test_malformed_parent_is_ignored_with_its_state(parent: str) -> None:
    assert forwarded(("traceparent", parent), ("tracestate", STATE)) == {}


def test_two_parents_are_ignored() -> None:
    assert forwarded(("traceparent", PARENT), ("traceparent", PARENT)) == {}


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        "0a@b=x y",
        "a=1 , b=2",
        ",".join(f"k{number}=1" for number in range(32)),
    ],
)
def test_valid_state_is_forwarded_with_its_parent(state: str) -> None:
    sent = forwarded(("traceparent", PARENT), ("tracestate", state))

    assert sent == {"traceparent": PARENT, "tracestate": state}


def test_state_headers_are_joined() -> None:
    sent = forwarded(("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2"))

    assert sent["tracestate"] == "a=1,b=2"


@pytest.mark.parametrize(
    "state",
    [
        "",
        "a",
        "a=1,a=2",
        "a=é",
        "a=\x7f",
        "a=1;b=2\r\nX: y",
        "a=" + "x" * 257,
        ",".join(f"k{number}=1" for number in range(33)),
        ",".join(f"k{number}={'x' * 90}" for number in range(6)),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_malformed_state_is_ignored(state: str) -> None:
    sent = forwarded(("traceparent", PARENT), ("tracestate", state))

    assert sent == {"traceparent": PARENT}


def test_state_without_a_parent_is_ignored() -> None:
    assert forwarded(("tracestate", STATE)) == {}
