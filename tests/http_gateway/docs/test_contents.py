"""`/docs` shows all that the document tells of the operations, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from roster.v1 import errors_pb2

from http_gateway.body import MAX_BODY_BYTES
from http_gateway.codec.strict_json import MAX_DEPTH, MAX_VALUES
from http_gateway.errors import error_code_of, http_status
from http_gateway.routing.query import MAX_PARAMETERS

from .pages import DOCUMENT, section, text_of, topic

OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}
# The page names operations that differ in their method alone once, by the first of them.
SHOWN = [name for name in OPERATIONS if not name.endswith("ByPatch")]


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """Returns a part of the document, or what it refers to."""
    while "$ref" in part:
        found: Any = DOCUMENT
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part


def names_in(schema: dict[str, Any], seen: tuple[int, ...] = ()) -> Iterator[str]:
    """Yields the name of every field of a schema, however deep it lies."""
    schema = resolved(schema)
    if id(schema) in seen:
        return
    for name, member in schema.get("properties", {}).items():
        yield name
        yield from names_in(member, (*seen, id(schema)))
    inner = [schema[key] for key in ("items", "contentSchema") if key in schema]
    for each in [*inner, *schema.get("anyOf", [])[:1]]:
        yield from names_in(each, (*seen, id(schema)))


@pytest.mark.parametrize("name", SHOWN)
def test_every_operation_is_shown_with_its_path_parameters_and_fields(made: str, name: str) -> None:
    verb, path, operation = OPERATIONS[name]
    text = text_of(section(made, name))

    assert verb in text
    assert path in text
    wanted = {resolved(parameter)["name"] for parameter in operation["parameters"]}
    responses = [resolved(response) for response in operation["responses"].values()]
    for part in (operation.get("requestBody", {}), responses[0]):
        for content in part.get("content", {}).values():
            wanted |= set(names_in(content["schema"]))
    assert {field for field in wanted if field not in text} == set()


@pytest.mark.parametrize("name", SHOWN)
def test_every_error_of_an_operation_is_shown_with_its_status(made: str, name: str) -> None:
    _, _, operation = OPERATIONS[name]
    text = text_of(section(made, name))

    for status, reference in operation["responses"].items():
        for content in resolved(reference).get("content", {}).values():
            for code in content.get("examples", ()):
                assert re.search(rf"{status}\s*{code}", text), (status, code)


def test_bounds_and_choices_are_shown_in_words(made: str) -> None:
    create = text_of(section(made, "CreateSubscriber"))
    status = text_of(section(made, "ChangeSubscriberStatus"))

    assert "at most 254 characters" in create
    assert "1 to 320 characters" in create
    assert "at most 100 items" in create
    assert "One of UNCONFIRMED, CONFIRMED, UNSUBSCRIBED, BOUNCED, COMPLAINED" in status
    assert "UNSUBSCRIBED: The person has opted out." in status


def test_what_a_description_says_is_not_said_again(made: str) -> None:
    create = text_of(section(made, "CreateSubscriber"))
    update = text_of(section(made, "UpdateSubscriber"))

    assert "scope write" in create
    assert "Requires a key" not in create
    assert "each 1 to 100 characters after trimming" in create
    assert "· each 1 to 100 characters" not in create
    assert update.count("at most 100 characters") == 2
    assert update.count("Output only: ignored in requests.") == 1


def test_operation_that_has_two_methods_is_shown_once_and_found_by_both_names(made: str) -> None:
    text = text_of(section(made, "UpdateTag"))

    assert "PUT PATCH /api/tags/{id}" in text
    assert '<span id="UpdateTagByPatch"></span>' in made
    assert '<section class="operation" id="UpdateTagByPatch"' not in made


def test_every_code_of_the_protos_is_shown_with_its_status(made: str) -> None:
    introduction = text_of(made[: made.index('<section class="resource"')])

    for value in errors_pb2.Error.Reason.DESCRIPTOR.values:
        if value.number:
            known = rf"{http_status(value.number)}\s*{error_code_of(value.name)}"
            assert re.search(known, introduction), value.name


def test_page_tells_the_limits_that_there_are(made: str) -> None:
    limits = text_of(topic(made, "limits"))

    assert f"{MAX_BODY_BYTES // 1024**2} MiB" in limits
    assert f"{MAX_DEPTH} deep" in limits
    assert f"{MAX_VALUES:,} values" in limits
    assert f"{MAX_PARAMETERS} parameters" in limits
