"""The OpenAPI documents are valid, complete, and served."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import MethodDescriptor
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from openapi_spec_validator import validate

from roster.v1 import errors_pb2, http_pb2
from rosterd.http_gateway.errors import call_error
from rosterd.http_gateway.openapi.comments import comment
from rosterd.http_gateway.openapi.document import webhooks_document
from rosterd.http_gateway.request_errors import error_code_of
from rosterd.server.serving.gateway_policy import POLICY

from ... import tools
from ...cases import each
from ...documented import openapi
from ...fronts import METHODS, HttpFront

DOCUMENT = openapi()
DOCUMENTS = {"/openapi.json": DOCUMENT, "/openapi/webhooks.json": webhooks_document(POLICY)}
OPERATIONS: dict[tuple[str, str], dict[str, Any]] = {
    (verb.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}


@each("path", [*DOCUMENTS])
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


@each("path", [*DOCUMENTS])
def test_enums_are_not_components(path: str) -> None:
    """Go generators declare enum values of components as constants, whose names can collide."""
    schemas = DOCUMENTS[path]["components"]["schemas"]

    assert [name for name, schema in schemas.items() if "enum" in schema] == []
    assert schemas["Webhook"]["properties"]["disabledReason"]["enum"] == ["GONE", "FAILING"]


@each("operation", OPERATIONS.values())
def test_every_operation_is_described(operation: dict[str, Any]) -> None:
    assert operation["summary"]
    assert operation["description"]
    is_public = "No API key is required." in operation["description"]
    schemes = ["bearer", "apiKey", *([] if operation["operationId"] == "SignUp" else ["session"])]
    assert operation["security"] == ([] if is_public else [{name: []} for name in schemes])
    for parameter in operation["parameters"]:
        assert "$ref" in parameter or parameter["description"]


@each("method", METHODS.values())
def test_reasons_in_comments_match_the_declared_reasons(method: MethodDescriptor) -> None:
    declared = {
        error_code_of(errors_pb2.Error.Reason.Name(reason))
        for reason in method.GetOptions().Extensions[http_pb2.fails_with]
    }
    codes = {error_code_of(name) for name in errors_pb2.Error.Reason.keys()}  # noqa: SIM118

    named = codes.intersection(re.findall(r"\w+", comment(method, POLICY)))
    service = comment(method.containing_service, POLICY)
    assert declared <= named | set(re.findall(r"\w+", service))
    assert named - declared <= {"ValidationError"}


def test_every_error_response_has_the_error_schema_and_headers() -> None:
    responses = DOCUMENT["components"]["responses"]

    assert responses["Unauthorized"]["headers"].keys() == {"X-Request-Id", "WWW-Authenticate"}
    limited = [responses[name] for name in responses if name.startswith("RateLimited")]
    assert all(each["headers"].keys() >= {"X-Request-Id", "Retry-After"} for each in limited)
    assert limited
    for name, response in responses.items():
        content = response["content"]["application/json"]
        assert content["schema"] == {"$ref": "#/components/schemas/ErrorResponse"}
        assert name.endswith("Or".join(content["examples"]))


@each(
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
