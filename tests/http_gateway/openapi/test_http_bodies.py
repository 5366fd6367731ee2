"""Operations with a google.api.HttpBody, and operations without an API key."""

from __future__ import annotations

from typing import Any

from rosterd.http_gateway.openapi.document import document
from rosterd.server.serving.gateway_policy import POLICY

from ..page_service import SERVICE

DOCUMENT = document([SERVICE], POLICY)
OPERATIONS = {
    operation["operationId"]: operation
    for item in DOCUMENT["paths"].values()
    for operation in item.values()
}
TEXT = {"schema": {"type": "string"}}


def errors_of(name: str) -> dict[str, dict[str, Any]]:
    """Returns the error responses of an operation by status."""
    responses = OPERATIONS[name]["responses"]
    return {
        status: DOCUMENT["components"]["responses"][response["$ref"].rpartition("/")[2]]
        for status, response in responses.items()
        if "$ref" in response
    }


def test_response_has_the_media_type_of_the_option() -> None:
    response = OPERATIONS["GetPage"]["responses"]["200"]

    assert response["content"] == {"text/html": TEXT}
    assert response["description"] == "The call succeeded."
    assert "HttpBody" not in DOCUMENT["components"]["schemas"]


def test_errors_can_be_json_or_have_the_media_type_of_the_response() -> None:
    for response in errors_of("GetPage").values():
        assert list(response["content"]) == ["application/json", "text/html"]
        assert response["content"]["text/html"] == TEXT
    for response in errors_of("StoreFile").values():
        assert list(response["content"]) == ["application/json"]


def test_public_operation_has_no_security_and_no_error_of_api_keys() -> None:
    for name in ("GetPage", "SubmitPage"):
        assert OPERATIONS[name]["security"] == []
        assert OPERATIONS[name]["description"] == "No API key is required."
        assert errors_of(name).keys().isdisjoint({"401", "403"})


def test_public_operation_takes_no_idempotency_key() -> None:
    key = {"$ref": "#/components/parameters/IdempotencyKey"}

    assert key not in OPERATIONS["SubmitPage"]["parameters"]
    assert errors_of("SubmitPage").keys().isdisjoint({"409", "422"})
    assert "Idempotency-Replayed" not in OPERATIONS["SubmitPage"]["responses"]["200"]["headers"]
    assert key in OPERATIONS["CreateItem"]["parameters"]
