"""Operations: what a binding becomes, whatever it binds."""

from __future__ import annotations

from typing import Any

import pytest
from buf.validate import validate_pb2
from google.protobuf import duration_pb2, struct_pb2, wrappers_pb2  # noqa: F401
from openapi_spec_validator import validate

from http_gateway.openapi.document import document
from http_gateway.routing.query import MAX_PARAMETERS

from .made import Rule, service_of

MESSAGES: dict[str, dict[str, tuple[str, Any]]] = {
    "Author": {"name": ("string", {}), "age": ("int32", {}), "self": (".made.Author", {})},
    "Book": {"id": ("string", {}), "title": ("string", {}), "author": (".made.Author", {})},
    "Ask": {
        "id": ("string", {}),
        "book": (".made.Book", {}),
        "page_size": ("int32", {}),
        "words": ("*string", {}),
        "since": (".google.protobuf.Timestamp", {}),
        "anything": (".google.protobuf.Struct", {}),
    },
    "Reply": {"books": ("*.made.Book", {}), "book": (".made.Book", {})},
}


def made(rule: Rule, request: str = "Ask", reply: str = "Reply") -> dict[str, Any]:
    """Returns the document of a service with one method, which has to be valid."""
    described = document([service_of(MESSAGES, {"Do": (request, reply, rule)})])
    validate(described)
    return described


def operation(rule: Rule, request: str = "Ask", reply: str = "Reply") -> dict[str, Any]:
    """Returns the one operation of such a document."""
    ((_, item),) = made(rule, request, reply)["paths"].items()
    ((_, found),) = item.items()
    return dict(found)


def parameters(found: dict[str, Any]) -> dict[str, str]:
    """Returns the places of an operation's own parameters, by name."""
    return {each["name"]: each["in"] for each in found["parameters"] if "name" in each}


def test_without_a_body_every_field_that_text_can_stand_for_is_a_parameter() -> None:
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


def test_a_list_in_the_query_has_at_most_as_many_items_as_a_query_has_parameters() -> None:
    bounds = {None: {}, 3: {}, 300: {}}
    for most, options in bounds.items():
        if most is not None:
            options[validate_pb2.field] = validate_pb2.FieldRules(repeated={"max_items": most})
    asked = {f"up_to_{most}": ("*string", options) for most, options in bounds.items()}
    messages = {"Ask": asked, "Reply": {}}
    found = document([service_of(messages, {"Do": ("Ask", "Reply", Rule(get="/a"))})])

    told = {each["name"]: each for each in found["paths"]["/a"]["get"]["parameters"][:3]}
    most = {name: each["schema"]["maxItems"] for name, each in told.items()}
    assert most == {"upToNone": MAX_PARAMETERS, "upTo3": 3, "upTo300": MAX_PARAMETERS}
    assert f"at most {MAX_PARAMETERS} parameters" in found["info"]["description"]


def test_a_body_that_is_one_field_leaves_the_others_to_the_query() -> None:
    found = operation(Rule(put="/a/{id}", body="book"))

    assert parameters(found).keys() == {"id", "pageSize", "words", "since"}
    schema = found["requestBody"]["content"]["application/json"]["schema"]
    assert schema["anyOf"][0] == {"$ref": "#/components/schemas/Book"}


def test_a_body_that_is_the_request_lacks_what_the_path_holds() -> None:
    found = made(Rule(post="/a/{id}", body="*"))

    ask = found["components"]["schemas"]["Ask"]
    assert ask["properties"].keys() == {"book", "pageSize", "words", "since", "anything"}
    assert parameters(found["paths"]["/a/{id}"]["post"]) == {"id": "path"}


def test_a_path_of_several_segments_is_told_by_its_parts_under_its_json_name() -> None:
    found = made(Rule(get="/{book.id=shelves/*/books/*}/pages/{page_size}"))

    ((path, item),) = found["paths"].items()
    assert path == "/shelves/{book.id1}/books/{book.id2}/pages/{pageSize}"
    assert parameters(item["get"]).items() >= {("book.id1", "path"), ("book.id2", "path")}


def test_an_answer_that_is_one_field_has_the_schema_of_that_field() -> None:
    content = operation(Rule(get="/a", response_body="books"))["responses"]["200"]["content"]

    assert content["application/json"]["schema"]["items"] == {"$ref": "#/components/schemas/Book"}


def test_a_message_that_may_be_absent_is_null_as_an_answer() -> None:
    content = operation(Rule(get="/a", response_body="book"))["responses"]["200"]["content"]

    schema = content["application/json"]["schema"]
    assert schema["anyOf"] == [{"$ref": "#/components/schemas/Book"}, {"type": "null"}]


def test_further_bindings_are_operations_with_names_of_their_own() -> None:
    rule = Rule(get="/a", additional_bindings=[Rule(get="/b"), Rule(post="/b", body="*")])

    paths = made(rule)["paths"]
    names = [each["operationId"] for item in paths.values() for each in item.values()]
    assert names == ["Do", "DoByGet", "DoByPost"]


def test_a_binding_of_any_method_has_an_operation_for_each_with_a_meaning_of_its_own() -> None:
    rule = Rule()
    rule.custom.kind, rule.custom.path = "*", "/a"

    assert made(rule)["paths"]["/a"].keys() == {"delete", "get", "patch", "post", "put"}


@pytest.mark.parametrize("rule", [Rule(post="/a", body="words"), Rule(get="/{book.author.name}")])
def test_whatever_is_bound_makes_a_valid_document(rule: Rule) -> None:
    assert operation(rule)["responses"]["200"]


def test_streams_of_messages_that_are_records_themselves_are_told_as_text() -> None:
    found = operation(Rule(post="/a", body="*"), request="*Book", reply="*Book")

    for content in (found["requestBody"]["content"], found["responses"]["200"]["content"]):
        assert content["application/x-ndjson"]["schema"]["type"] == "string"
        assert "text/csv" not in content
    assert "text/event-stream" in found["responses"]["200"]["content"]


def test_a_service_without_comments_has_a_document_all_the_same() -> None:
    found = operation(Rule(get="/a"))

    assert "summary" not in found
    assert found["responses"]["200"]["description"]
