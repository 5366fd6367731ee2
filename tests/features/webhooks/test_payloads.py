"""Compares the example events of the gateway with the events that the stores write."""

from __future__ import annotations

from . import payloads


def test_example_events_are_up_to_date() -> None:
    assert payloads.FILE.read_bytes() == payloads.content(), (
        "run python -m tests.features.webhooks.payloads"
    )
