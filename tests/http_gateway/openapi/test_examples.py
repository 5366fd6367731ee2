"""Every operation has examples that match its schemas and are accepted by the service."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

from rosterd.http_gateway.openapi.bodies import FORM

from ...cases import each
from ...documented import openapi

DOCUMENT = openapi()
OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """Returns the violations of a schema of the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    checker = Draft202012Validator.FORMAT_CHECKER
    validator = Draft202012Validator(whole, format_checker=checker)
    return [error.message for error in validator.iter_errors(value)]


def contents(operation: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Returns the contents of an operation's request and responses."""
    bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
    resolved = [
        DOCUMENT["components"]["responses"][body["$ref"].rpartition("/")[2]]
        if "$ref" in body
        else body
        for body in bodies
    ]
    return [pair for body in resolved for pair in body.get("content", {}).items()]


@each("name", list(OPERATIONS))
def test_every_content_has_examples_that_match_its_schema(name: str) -> None:
    for media_type, content in contents(OPERATIONS[name][2]):
        values = [example["value"] for example in content.get("examples", {}).values()]
        values += [content["example"]] if "example" in content else []
        if not values and media_type in (FORM, "text/html"):
            continue

        assert values, media_type
        for value in values:
            assert violations(content["schema"], value) == []


@each("name", list(OPERATIONS))
def test_every_parameter_has_an_example_that_matches_its_schema(name: str) -> None:
    for parameter in OPERATIONS[name][2]["parameters"]:
        if "$ref" in parameter:
            parameter = DOCUMENT["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]
        if parameter["name"] != "pageToken":  # A page token is valid for one list only.
            assert violations(parameter["schema"], parameter["example"]) == []
