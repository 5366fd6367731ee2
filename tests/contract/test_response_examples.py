"""Tests that the example responses are those of a running service to the samples."""

from __future__ import annotations

import pytest

from rosterd.http_gateway.openapi.bodies import HTML

from .response_examples import FILE, OPERATIONS, recorded


@pytest.mark.parametrize(
    "fixture", ["service", pytest.param("service_on_postgres", marks=pytest.mark.verify)]
)
def test_shown_responses_are_those_to_the_samples(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    examples = recorded(request.getfixturevalue(fixture))

    assert FILE.read_bytes() == examples, "run python -m tests.contract.response_examples"


def test_every_response_is_shown_except_pages() -> None:
    for operation in OPERATIONS.values():
        for body in operation.responses:
            assert (body.example == "") == (body.media_type == HTML), operation.anchor
