"""`/docs` without a browser: it is whole, it brings everything along, and it escapes."""

from __future__ import annotations

import copy
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest
from google.api import http_pb2 as google_http
from google.protobuf.descriptor import ServiceDescriptor
from openapi_spec_validator import validate
from roster.v1 import errors_pb2

from http_gateway.body import MAX_BODY_BYTES
from http_gateway.codec.strict_json import MAX_DEPTH, MAX_VALUES
from http_gateway.docs.render import render
from http_gateway.errors import http_status, pascal
from http_gateway.openapi.document import document
from http_gateway.routing.query import MAX_PARAMETERS
from server.app import SERVICES

from ...fronts import HttpFront
from ..routing.protos import Rule, library, service_of
from .pages import section, text_of, topic

DOCUMENT = document(SERVICES)
OPERATIONS = {
    operation["operationId"]: (verb.upper(), path, operation)
    for path, item in DOCUMENT["paths"].items()
    for verb, operation in item.items()
}
# The page names operations that differ in their method alone once, by the first of them.
SHOWN = [name for name in OPERATIONS if not name.endswith("ByPatch")]
RAW_LIMIT = 400_000


@pytest.fixture(scope="module")
def made() -> str:
    """The page of the document, made here."""
    return render(DOCUMENT).html.decode()


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


def test_page_is_served_as_it_is_made_with_what_keeps_it_safe(http: HttpFront, made: str) -> None:
    status, headers, text = http.exchange("GET", "/docs")

    assert (status, text.decode()) == (200, made)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"] == render(DOCUMENT).policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_head_tells_the_size_of_the_page_and_sends_nothing(http: HttpFront, made: str) -> None:
    status, headers, text = http.exchange("HEAD", "/docs")

    assert (status, text) == (200, b"")
    assert int(headers["content-length"]) == len(made.encode())


def test_page_is_light(made: str) -> None:
    assert len(made.encode()) < RAW_LIMIT


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
    assert "UNSUBSCRIBED: The person does not want the mail any more." in status


def test_what_a_description_says_is_not_said_again(made: str) -> None:
    create = text_of(section(made, "CreateSubscriber"))
    update = text_of(section(made, "UpdateSubscriber"))

    assert "scope write" in create
    assert "Needs a key" not in create
    assert "each 1 to 100 characters after trimming" in create
    assert "· each 1 to 100 characters" not in create
    assert update.count("at most 100 characters") == 2
    assert update.count("Ignored: written by the service alone.") == 1


def test_operation_that_has_two_methods_is_shown_once_and_found_by_both_names(made: str) -> None:
    text = text_of(section(made, "UpdateTag"))

    assert "PUT PATCH /api/tags/{id}" in text
    assert '<span id="UpdateTagByPatch"></span>' in made
    assert '<section class="operation" id="UpdateTagByPatch"' not in made


def test_every_code_of_the_protos_is_shown_with_its_status(made: str) -> None:
    introduction = text_of(made[: made.index('<section class="resource"')])

    for value in errors_pb2.Error.Reason.DESCRIPTOR.values:
        if value.number:
            known = rf"{http_status(value.number)}\s*{pascal(value.name)}"
            assert re.search(known, introduction), value.name


def test_policy_names_what_is_inlined_by_its_hash_and_allows_nothing_else() -> None:
    page = render(DOCUMENT)
    html = page.html.decode()
    hashes = {
        kind: " ".join(
            f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
            for text in re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        )
        for kind in ("style", "script")
    }

    assert page.policy == (
        f"default-src 'none'; style-src {hashes['style']}; script-src {hashes['script']}; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    assert not re.search(r"<[^>]+\s(style|on\w+)=", html)


def test_page_tells_the_limits_that_there_are(made: str) -> None:
    limits = text_of(topic(made, "limits"))

    assert f"{MAX_BODY_BYTES // 1024**2} MiB" in limits
    assert f"{MAX_DEPTH} deep" in limits
    assert f"{MAX_VALUES:,} values" in limits
    assert f"{MAX_PARAMETERS} parameters" in limits


PURGE = google_http.CustomHttpPattern(kind="PURGE", path="/a")


@pytest.mark.parametrize(
    "services", [[], [service_of(Purge=Rule(custom=PURGE))]], ids=["none", "one of PURGE alone"]
)
def test_page_of_services_that_openapi_cannot_show_has_the_overview_alone(
    services: list[ServiceDescriptor],
) -> None:
    content = document(services)
    validate(content)

    html = render(content).html.decode()

    assert content["tags"] == []
    assert 'class="operation"' not in html
    assert topic(html, "introduction")
    assert topic(html, "errors")


def test_page_shows_any_service() -> None:
    html = render(document([library()])).html.decode()

    route = text_of(section(html, "UpdateBook"))
    assert "/v1/shelves/{name1}/books/{name2}" in route


def test_page_refers_to_nothing_outside(made: str) -> None:
    loaded = re.findall(r'\s(?:src|srcset|href|action|poster|data)="([^"]*)"', made)

    assert {url for url in loaded if not url.startswith(("#", "/", "data:"))} == set()
    assert not re.search(r"@import|url\(", made)


def test_whatever_the_document_says_is_text() -> None:
    evil = "<script>alert(1)</script> ![x](http://example.com/x.png) [y](javascript:z) \" '><b>"
    content = copy.deepcopy(DOCUMENT)
    content["info"].update(title=evil, summary=evil, description=evil, version=evil)
    for tag in content["tags"]:
        tag["description"] = evil
    for operation in (o for item in content["paths"].values() for o in item.values()):
        operation["description"] = evil
        for parameter in operation["parameters"]:
            if "$ref" not in parameter:
                parameter.update(description=evil, example=evil)
    for schema in content["components"]["schemas"].values():
        schema["description"] = evil
        for member in schema.get("properties", {}).values():
            member["description"] = evil
    html = render(content).html.decode()

    assert text_of(html).count("alert(1)") > 100
    assert html.count("<script>") == 2
    assert "<img" not in html
    assert "<b>" not in re.sub(r"<b>\{\w+\}</b>", "", html)
    assert 'href="javascript' not in html
