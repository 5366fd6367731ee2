"""`/openapi.json` as a whole: it is valid, complete, and served."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import MethodDescriptor
from openapi_spec_validator import validate
from roster.v1 import errors_pb2, http_pb2

from http_gateway.errors import error_code_of
from http_gateway.openapi.comments import comment
from http_gateway.openapi.document import document, webhooks_document
from http_gateway.routing.bindings import bindings_of
from http_gateway.routing.routes import Routes
from server.app import SERVICES

from ... import tools
from ...fronts import METHODS, HttpFront, binding

DOCUMENT = document(SERVICES)
DOCUMENTS = {"/openapi.json": DOCUMENT, "/openapi/webhooks.json": webhooks_document()}
OPERATIONS: dict[tuple[str, str], dict[str, Any]] = {
    (verb.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}
IDS = [" ".join(operation) for operation in OPERATIONS]


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_is_openapi(path: str) -> None:
    validate(DOCUMENTS[path])


@pytest.mark.verify
@pytest.mark.parametrize("path", DOCUMENTS)
def test_redocly_finds_no_fault(tmp_path: Path, path: str) -> None:
    program = tools.program("redocly", "redocly")
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(DOCUMENTS[path]))
    config = Path(__file__).with_name("redocly.yaml")

    told = subprocess.run(
        [program, "lint", str(file), f"--config={config}", "--format=json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # It asks nobody whether there is a newer one, and tells nobody that it ran.
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"},
    )

    assert json.loads(told.stdout)["problems"] == []


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_is_served_as_it_is_made(http: HttpFront, path: str) -> None:
    status, headers, text = http.exchange("GET", path)

    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(text) == DOCUMENTS[path]


def test_every_pattern_spans_the_whole_text() -> None:
    found = patterns(list(DOCUMENTS.values()))

    assert len(found) > 3
    for pattern in found:
        assert re.fullmatch(r"\^.*\$", pattern)
        # An alternative outside of brackets would end where another one begins.
        assert "|" not in re.sub(r"\[[^]]*\]|\([^()]*(\([^()]*\)[^()]*)*\)", "", pattern)


def patterns(value: Any) -> set[str]:
    """Returns every pattern in a value."""
    if isinstance(value, list):
        return set[str]().union(*map(patterns, value))
    if not isinstance(value, dict):
        return set()
    own = {value["pattern"]} if isinstance(value.get("pattern"), str) else set()
    return own.union(*map(patterns, value.values()))


@pytest.mark.parametrize("path", DOCUMENTS)
def test_enums_are_no_components(path: str) -> None:
    """Generators of Go declare the values of a component as constants, which may collide."""
    schemas = DOCUMENTS[path]["components"]["schemas"]

    assert [name for name, schema in schemas.items() if "enum" in schema] == []
    assert schemas["Webhook"]["properties"]["disabledReason"]["enum"] == ["GONE", "FAILING"]


def test_numbers_of_events_are_integers() -> None:
    sequence = DOCUMENT["components"]["schemas"]["Event"]["properties"]["sequence"]
    after = next(
        parameter["schema"]
        for parameter in OPERATIONS["GET", "/api/events"]["parameters"]
        if parameter.get("name") == "afterSequence"
    )

    assert (sequence["type"], after["type"]) == ("integer", "integer")
    assert after["maximum"] == 2**53 - 1


def test_page_of_the_document_has_the_methods_of_a_page(http: HttpFront) -> None:
    for method, wanted in {"HEAD": 200, "OPTIONS": 204, "POST": 405}.items():
        status, headers, _ = http.exchange(method, "/openapi.json")

        assert status == wanted
        assert method == "HEAD" or headers["allow"] == "GET, HEAD, OPTIONS"


def unnamed(path: str) -> str:
    """Returns a path without its names: the document has those of JSON, a template the proto's."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_every_binding_is_documented_once() -> None:
    bound = [
        (binding.http_method, unnamed(binding.template.text))
        for service in SERVICES
        for binding in bindings_of(service)
    ]

    assert sorted(bound) == sorted((method, unnamed(path)) for method, path in OPERATIONS)
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    assert set(names) >= METHODS.keys()


@pytest.mark.parametrize("operation", OPERATIONS, ids=IDS)
def test_every_documented_operation_is_served(operation: tuple[str, str]) -> None:
    method, path = operation

    match = Routes(SERVICES).match(method, unnamed(path).replace("{}", "x"))

    assert match is not None
    assert unnamed(match.binding.template.text) == unnamed(path)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=IDS)
def test_every_operation_says_what_it_does(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    assert operation["security"] == [{"bearer": []}, {"apiKey": []}]
    for parameter in operation["parameters"]:
        assert "$ref" in parameter or parameter["description"]


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_every_schema_and_every_property_of_it_is_described(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]

    assert schema["description"]
    for key, value in schema.get("properties", {}).items():
        assert value.get("description"), key


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_field_is_in_the_path_the_query_a_header_or_a_body(method: MethodDescriptor) -> None:
    operation = next(o for o in OPERATIONS.values() if o["operationId"] == method.name)

    told = {p["name"] for p in operation["parameters"] if "name" in p}
    told |= {name for media in contents(operation.get("requestBody")) for name in media}
    streamed = {"rows", "lines"} if method.client_streaming else set()
    fields = {f.json_name for f in method.input_type.fields} - {"updateMask"} - streamed
    assert fields <= told
    success = next(r for r in operation["responses"].values() if "$ref" not in r)
    given = {name for media in contents(success) for name in media}
    returned = {f.json_name for f in method.output_type.fields} - {"nextPageToken"}
    assert method.server_streaming or returned == given
    assert ("Link" in success["headers"]) == (
        "next_page_token" in method.output_type.fields_by_name
    )


def contents(body: dict[str, Any] | None) -> list[list[str]]:
    """Returns the names of the properties of each media type of a body."""
    schemas = [media["schema"] for media in (body or {}).get("content", {}).values()]
    refs = [schema["$ref"].rpartition("/")[2] for schema in schemas if "$ref" in schema]
    return [list(DOCUMENT["components"]["schemas"][ref]["properties"]) for ref in refs]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_status_of_a_success_is_that_of_the_protos(method: MethodDescriptor) -> None:
    options = method.GetOptions()
    status = options.Extensions[http_pb2.success_status] or 200
    verb, path, _ = binding(method.name)
    responses = OPERATIONS[verb, path]["responses"]

    assert [code for code in responses if code < "400"] == [str(status)]
    assert ("content" in responses[str(status)]) == (status != 204)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_reasons_that_a_comment_names_are_declared_and_the_other_way_round(
    method: MethodDescriptor,
) -> None:
    declared = {
        error_code_of(errors_pb2.Error.Reason.Name(reason))
        for reason in method.GetOptions().Extensions[http_pb2.fails_with]
    }
    known = {error_code_of(name): name for name in errors_pb2.Error.Reason.keys()}  # noqa: SIM118

    named = {word for word in re.findall(r"\w+", comment(method)) if word in known}
    assert declared <= named
    assert named - declared <= {"ValidationError"}


def test_comments_name_fields_as_json_does_and_leave_other_words_as_they_are() -> None:
    schemas = DOCUMENT["components"]["schemas"]

    told = OPERATIONS["POST", "/api/subscribers/import"]["description"]
    assert "onConflict SKIP" in told
    assert "on_conflict" not in told
    label = schemas["CreateCustomFieldRequest"]["properties"]["label"]["description"]
    assert "first_name" in label


def test_every_refusal_has_the_shape_of_errors_and_the_headers_that_go_with_it() -> None:
    responses = DOCUMENT["components"]["responses"]

    assert responses["Unauthorized"]["headers"].keys() == {"X-Request-Id", "WWW-Authenticate"}
    assert responses["RateLimited"]["headers"].keys() >= {"X-Request-Id", "Retry-After"}
    for name, response in responses.items():
        content = response["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/ErrorResponse"}
        assert name.endswith("Or".join(content["examples"]))


@pytest.mark.parametrize(
    ("operation", "absent"),
    [
        (("GET", "/api/tags"), {"403", "404", "409", "422"}),
        (("POST", "/api/subscribers/import"), {"404", "409", "422"}),
        (("POST", "/api/merge-tags/render"), {"403", "409", "422"}),
    ],
)
def test_an_operation_is_not_said_to_fail_as_it_cannot(
    operation: tuple[str, str], absent: set[str]
) -> None:
    assert OPERATIONS[operation]["responses"].keys() & absent == set()
