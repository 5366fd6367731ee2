"""Tests that the documented errors match those of a running service."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.http_gateway.request_errors import error_code_of
from rosterd.server.serving.gateway_policy import error_examples

from ..documented import openapi
from .error_examples import FILE, operations, recorded

DOCUMENT = openapi()


@pytest.mark.parametrize(
    "fixture", ["service", pytest.param("service_on_postgres", marks=pytest.mark.verify)]
)
def test_recorded_errors_are_up_to_date(fixture: str, request: pytest.FixtureRequest) -> None:
    examples = recorded(request.getfixturevalue(fixture))

    assert FILE.read_bytes() == examples, "run python -m tests.contract.error_examples"


def test_every_documented_error_has_an_example() -> None:
    for operation in operations():
        documented = documented_errors(operation.rpc)

        assert documented.keys() == {error_code_of(reason) for reason in operation.reasons}
        for reason in operation.reasons:
            assert reason in error_examples().by_reason
            error = documented[error_code_of(reason)]["value"]["error"]
            assert error["code"] == error_code_of(reason)
            assert error["message"]


def documented_errors(rpc: str) -> dict[str, Any]:
    """Returns the error examples of an rpc in the document, by code."""
    operation = next(
        operation
        for item in DOCUMENT["paths"].values()
        for operation in item.values()
        if operation["operationId"] == rpc
    )
    references = [r["$ref"] for r in operation["responses"].values() if "$ref" in r]
    names = [reference.rpartition("/")[2] for reference in references]
    components = [DOCUMENT["components"]["responses"][name] for name in names]
    examples: dict[str, Any] = {}
    for component in components:
        examples |= component["content"]["application/json"]["examples"]
    return examples
