"""The OpenAPI documents are valid, complete, and served."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from multidict import CIMultiDict
from openapi_spec_validator import validate

from roster.v1 import errors_pb2, http_pb2
from rosterd.http_gateway.errors import call_error
from rosterd.http_gateway.openapi.bodies import FORM
from rosterd.http_gateway.openapi.comments import comment
from rosterd.http_gateway.openapi.document import document, webhooks_document
from rosterd.http_gateway.request_errors import RequestError, error_code_of
from rosterd.http_gateway.routing.bindings import bindings_of
from rosterd.http_gateway.routing.bodies import is_http_body
from rosterd.http_gateway.routing.routes import Routes
from rosterd.http_gateway.timeouts import timeout_of
from rosterd.server.app import SERVICES
from rosterd.server.serving.gateway_policy import ANNOTATIONS, POLICY

from ... import tools
from ...cases import each
from ...fronts import METHODS, HttpFront, binding

DOCUMENT = document(SERVICES, POLICY)
DOCUMENTS = {"/openapi.json": DOCUMENT, "/openapi/webhooks.json": webhooks_document(POLICY)}
ROUTES = Routes(SERVICES, POLICY.annotations)
OPERATIONS: dict[tuple[str, str], dict[str, Any]] = {
    (verb.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


@pytest.mark.parametrize("path", DOCUMENTS)
def test_document_is_openapi(path: str) -> None:
    validate(DOCUMENTS[path])


@pytest.mark.verify
@pytest.mark.parametrize("path", DOCUMENTS)
def test_redocly_reports_no_problem(tmp_path: Path, path: str) -> None:
    program = tools.program("redocly", "redocly")
    file = tmp_path / "openapi.json"
    file.write_text(json.dumps(DOCUMENTS[path]))
    config = Path(__file__).with_name("redocly.yaml")

    result = subprocess.run(
        [program, "lint", str(file), f"--config={config}", "--format=json"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        # No network requests for updates or telemetry.
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"},
    )

    assert json.loads(result.stdout)["problems"] == []


def test_every_code_of_an_error_is_documented() -> None:
    failed = [
        AioRpcError(code, Metadata(), Metadata(), details)
        for code in StatusCode
        if code is not StatusCode.OK
        for details in ("", "CLIENT: Received message larger than max", "message larger than max")
    ]
    sent = {call_error(each, POLICY.errors).code for each in failed}
    sent |= set(map(error_code_of, POLICY.errors.statuses))

    schema = DOCUMENT["components"]["schemas"]["ErrorBody"]
    assert set(schema["properties"]["code"]["enum"]) == sent


def test_timeout_is_documented_as_it_is_read() -> None:
    schema = DOCUMENT["components"]["parameters"]["Timeout"]["schema"]
    for value in ("0n", "00S", "1n", "0001H", "12345678S", "012345678S", "1", "S", "1s", "-1S", ""):
        documented = len(value) <= schema["maxLength"] and bool(re.search(schema["pattern"], value))
        try:
            timeout_of(SimpleNamespace(headers=CIMultiDict({"Grpc-Timeout": value})))
            accepted = True
        except RequestError as error:
            accepted = error.error.reason != "VALIDATION_ERROR"
        assert documented == accepted, value


@pytest.mark.parametrize("path", DOCUMENTS)
def test_served_document_equals_the_generated_one(http: HttpFront, path: str) -> None:
    status, headers, text = http.exchange("GET", path)

    assert (status, headers["content-type"]) == (200, "application/json")
    assert json.loads(text) == DOCUMENTS[path]


def test_every_pattern_is_anchored_at_both_ends() -> None:
    all_patterns = patterns(list(DOCUMENTS.values()))

    assert len(all_patterns) > 3
    for pattern in all_patterns:
        assert re.fullmatch(r"\^.*\$", pattern)
        # Outside of groups and brackets, an alternation would not be anchored at both ends.
        assert "|" not in re.sub(r"\[[^]]*\]|\([^()]*(\([^()]*\)[^()]*)*\)", "", pattern)


def patterns(value: Any) -> set[str]:
    """Returns every pattern in a value."""
    if isinstance(value, list):
        return set[str]().union(*map(patterns, value))
    if not isinstance(value, dict):
        return set()
    found = {value["pattern"]} if isinstance(value.get("pattern"), str) else set()
    return found.union(*map(patterns, value.values()))


@pytest.mark.parametrize("path", DOCUMENTS)
def test_enums_are_not_components(path: str) -> None:
    """Go generators declare enum values of components as constants, whose names can collide."""
    schemas = DOCUMENTS[path]["components"]["schemas"]

    assert [name for name, schema in schemas.items() if "enum" in schema] == []
    assert schemas["Webhook"]["properties"]["disabledReason"]["enum"] == ["GONE", "FAILING"]


def test_document_supports_get_head_and_options(http: HttpFront) -> None:
    for method, expected in {"HEAD": 200, "OPTIONS": 204, "POST": 405}.items():
        status, headers, _ = http.exchange(method, "/openapi.json")

        assert status == expected
        assert method == "HEAD" or headers["allow"] == "GET, HEAD, OPTIONS"


def without_parameter_names(path: str) -> str:
    """Returns a path without parameter names, which differ between templates and the document."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_every_binding_is_documented_once() -> None:
    bound = [
        (binding.http_method, without_parameter_names(binding.template.text))
        for service in SERVICES
        for binding in bindings_of(service, POLICY.annotations)
    ]

    assert sorted(bound) == sorted(
        (method, without_parameter_names(path)) for method, path in OPERATIONS
    )
    names = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    assert set(names) >= METHODS.keys()


@each("operation", list(OPERATIONS))
def test_every_documented_operation_is_served(operation: tuple[str, str]) -> None:
    method, path = operation

    match = ROUTES.match(method, without_parameter_names(path).replace("{}", "x"))

    assert match is not None
    assert without_parameter_names(match.binding.template.text) == without_parameter_names(path)


@each("operation", OPERATIONS.values())
def test_every_operation_is_described(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    is_public = "No API key is required." in operation["description"]
    assert operation["security"] == ([] if is_public else [{"bearer": []}, {"apiKey": []}])
    for parameter in operation["parameters"]:
        assert "$ref" in parameter or parameter["description"]


@each("name", list(DOCUMENT["components"]["schemas"]))
def test_every_schema_and_property_is_described(name: str) -> None:
    schema = DOCUMENT["components"]["schemas"][name]

    assert schema["description"]
    for key, value in schema.get("properties", {}).items():
        assert value.get("description"), key


@each("method", METHODS.values())
def test_every_field_is_in_the_path_query_headers_or_body(method: MethodDescriptor) -> None:
    operation = next(o for o in OPERATIONS.values() if o["operationId"] == method.name)

    described = {p["name"] for p in operation["parameters"] if "name" in p}
    described |= {name for media in contents(operation.get("requestBody")) for name in media}
    forms = {f.json_name for f in method.input_type.fields if is_http_body(f.message_type)}
    takes_form = bool(forms) or method.GetOptions().HasExtension(http_pb2.form)
    assert takes_form == (FORM in operation.get("requestBody", {}).get("content", {}))
    streamed = (
        {"rows", "subscribers", "suppressions", "lines"} if method.client_streaming else set()
    )
    fields = {f.json_name for f in method.input_type.fields} - {"updateMask"} - streamed - forms
    assert fields <= described
    success = next(r for r in operation["responses"].values() if "$ref" not in r)
    documented = {name for media in contents(success) for name in media}
    returned = {
        f.json_name
        for f in method.output_type.fields
        if not ANNOTATIONS.of_field(f).is_outside_json
    }
    if is_http_body(method.output_type):
        assert success["content"] == {"text/html": {"schema": {"type": "string"}}}
    else:
        assert method.server_streaming or returned == documented
    assert ("Link" in success["headers"]) == (
        "next_page_token" in method.output_type.fields_by_name
    )


def contents(body: dict[str, Any] | None) -> list[list[str]]:
    """Returns the names of the properties of each media type of a body."""
    schemas = [media["schema"] for media in (body or {}).get("content", {}).values()]
    refs = [schema["$ref"].rpartition("/")[2] for schema in schemas if "$ref" in schema]
    return [list(DOCUMENT["components"]["schemas"][ref]["properties"]) for ref in refs]


@each("method", METHODS.values())
def test_success_status_is_declared_in_the_protos(method: MethodDescriptor) -> None:
    options = method.GetOptions()
    status = options.Extensions[http_pb2.success_status] or 200
    verb, path, _ = binding(method.name)
    responses = OPERATIONS[verb, path]["responses"]

    others = {f.GetOptions().Extensions[http_pb2.status_if_true] for f in method.output_type.fields}
    redirects = [303] if options.Extensions[http_pb2.form].redirect else []
    expected = [status, *(others - {0}), *redirects]
    assert [int(code) for code in responses if code < "400"] == expected
    assert ("content" in responses[str(status)]) == (status != 204)


@each("method", METHODS.values())
def test_reasons_in_comments_match_the_declared_reasons(
    method: MethodDescriptor,
) -> None:
    declared = {
        error_code_of(errors_pb2.Error.Reason.Name(reason))
        for reason in method.GetOptions().Extensions[http_pb2.fails_with]
    }
    known = {error_code_of(name): name for name in errors_pb2.Error.Reason.keys()}  # noqa: SIM118

    named = {word for word in re.findall(r"\w+", comment(method, POLICY)) if word in known}
    service = comment(method.containing_service, POLICY)
    assert declared <= named | set(re.findall(r"\w+", service))
    assert named - declared <= {"ValidationError"}


def test_field_names_in_comments_are_json_names() -> None:
    schemas = DOCUMENT["components"]["schemas"]

    text = OPERATIONS["POST", "/api/subscribers/import"]["description"]
    assert "onConflict SKIP" in text
    assert "on_conflict" not in text
    label = schemas["CreateCustomFieldRequest"]["properties"]["label"]["description"]
    assert "first_name" in label


def test_every_error_response_has_the_error_schema_and_headers() -> None:
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
        (("GET", "/api/tags"), {"404", "409", "422"}),
        (("POST", "/api/subscribers/import"), {"422"}),
        (("POST", "/api/merge-tags/render"), {"422"}),
        (("GET", "/u/{token}"), {"401", "403", "409", "422"}),
    ],
)
def test_operation_does_not_document_impossible_errors(
    operation: tuple[str, str], absent: set[str]
) -> None:
    assert OPERATIONS[operation]["responses"].keys() & absent == set()
