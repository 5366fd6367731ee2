"""The errors that /openapi.json and /docs show are those that a running service sends."""

from __future__ import annotations

from typing import Any

import pytest

from http_gateway.errors import error_code_of
from http_gateway.openapi.document import document
from http_gateway.openapi.error_responses import error_examples
from server.app import SERVICES

from .error_examples import FILE, operations, recorded

DOCUMENT = document(SERVICES)


@pytest.mark.parametrize("on", ["service", "service_on_postgres"])
def test_every_error_that_can_be_provoked_is_the_recorded_one(
    on: str, request: pytest.FixtureRequest
) -> None:
    made = recorded(request.getfixturevalue(on))

    assert FILE.read_bytes() == made, "run python -m tests.contract.error_examples"


def test_every_documented_error_is_recorded_and_shown() -> None:
    for operation in operations():
        shown = examples(operation.rpc)

        assert shown.keys() == {error_code_of(reason) for reason in operation.reasons}
        for reason in operation.reasons:
            assert reason in error_examples().by_reason
            error = shown[error_code_of(reason)]["value"]["error"]
            assert error["code"] == error_code_of(reason)
            assert error["message"]


def test_operation_with_a_required_field_shows_what_is_sent_without_it() -> None:
    shown = examples("CreateCustomField")

    assert shown["ValidationError"]["value"]["error"]["details"] == [
        {"field": "label", "code": "REQUIRED", "message": "is required"}
    ]


def examples(rpc: str) -> dict[str, Any]:
    """Returns the errors that the document shows for an rpc, by code."""
    operation = next(
        each
        for item in DOCUMENT["paths"].values()
        for each in item.values()
        if each["operationId"] == rpc
    )
    responses = [each for each in operation["responses"].values() if "$ref" in each]
    names = [each["$ref"].rpartition("/")[2] for each in responses]
    components = [DOCUMENT["components"]["responses"][name] for name in names]
    found: dict[str, Any] = {}
    for component in components:
        found |= component["content"]["application/json"]["examples"]
    return found
