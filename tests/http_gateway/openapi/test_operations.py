"""Operations of bindings of any kind."""

from __future__ import annotations

from typing import Any

from google.api.http_pb2 import HttpRule as Rule
from google.protobuf import duration_pb2, struct_pb2, wrappers_pb2  # noqa: F401
from openapi_spec_validator import validate

from roster.buf.validate import validate_pb2
from rosterd.http_gateway.openapi.document import document
from rosterd.http_gateway.routing.query import MAX_PARAMETERS
from rosterd.server.serving.gateway_policy import POLICY

from .messages import service_of

MESSAGES: dict[str, dict[str, tuple[str, Any]]] = {
    "Author": {"name": ("string", {}), "age": ("int32", {}), "self": (".example.Author", {})},
    "Book": {"id": ("string", {}), "title": ("string", {}), "author": (".example.Author", {})},
    "Request": {
        "id": ("string", {}),
        "book": (".example.Book", {}),
        "page_size": ("int32", {}),
        "words": ("*string", {}),
        "since": (".google.protobuf.Timestamp", {}),
        "anything": (".google.protobuf.Struct", {}),
    },
    "Reply": {"books": ("*.example.Book", {}), "book": (".example.Book", {})},
}


def document_of(rule: Rule, request: str = "Request", reply: str = "Reply") -> dict[str, Any]:
    """Returns the valid document of a service with one method."""
    described = document([service_of(MESSAGES, {"Do": (request, reply, rule)})], POLICY)
    validate(described)
    return described


def operation(rule: Rule, request: str = "Request", reply: str = "Reply") -> dict[str, Any]:
    ((_, item),) = document_of(rule, request, reply)["paths"].items()
    ((_, described),) = item.items()
    return dict(described)


def parameters(described: dict[str, Any]) -> dict[str, str]:
    """Returns the locations of an operation's parameters by name."""
    return {p["name"]: p["in"] for p in described["parameters"] if "name" in p}


def test_binding_without_a_body_has_a_parameter_for_every_field_with_a_text_form() -> None:
    assert parameters(operation(Rule(get="/a/{id}"))) == {
        "id": "path",
        "book.id": "query",
        "book.title": "query",
        "book.author.name": "query",
        "book.author.age": "query",
        "pageSize": "query",
        "words": "query",
        "since": "query",
    }


def test_list_in_the_query_is_limited_by_the_number_of_parameters() -> None:
    bounds: dict[int | None, Any] = {None: {}, 3: {}, 300: {}}
    for limit, options in bounds.items():
        if limit is not None:
            rules = validate_pb2.RepeatedRules(max_items=limit)
            options[validate_pb2.field] = validate_pb2.FieldRules(repeated=rules)
    fields = {f"up_to_{limit}": ("*string", options) for limit, options in bounds.items()}
    messages = {"Request": fields, "Reply": {}}
    described = document(
        [service_of(messages, {"Do": ("Request", "Reply", Rule(get="/a"))})], POLICY
    )

    parameters = described["paths"]["/a"]["get"]["parameters"][:3]
    max_items = {p["name"]: p["schema"]["maxItems"] for p in parameters}
    assert max_items == {"upToNone": MAX_PARAMETERS, "upTo3": 3, "upTo300": MAX_PARAMETERS}
    assert f"at most {MAX_PARAMETERS} parameters" in described["info"]["description"]


def test_fields_outside_the_body_field_are_query_parameters() -> None:
    described = operation(Rule(put="/a/{id}", body="book"))

    assert parameters(described).keys() == {"id", "pageSize", "words", "since"}
    schema = described["requestBody"]["content"]["application/json"]["schema"]
    assert schema["anyOf"][0] == {"$ref": "#/components/schemas/Book"}


def test_streams_of_whole_messages_are_described_as_text() -> None:
    described = operation(Rule(post="/a", body="*"), request="*Book", reply="*Book")

    for content in (described["requestBody"]["content"], described["responses"]["200"]["content"]):
        assert content["application/x-ndjson"]["schema"]["type"] == "string"
        assert "text/csv" not in content
    assert "text/event-stream" in described["responses"]["200"]["content"]
