"""`/docs` without a browser: it is whole, it brings everything along, and it escapes."""

from __future__ import annotations

import copy
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from google.api import http_pb2 as google_http
from google.protobuf.descriptor import ServiceDescriptor
from openapi_spec_validator import validate

from http_gateway.docs.reference import render
from http_gateway.openapi.document import document

from ...fronts import HttpFront
from ..routing.protos import Rule, library, service_of
from .pages import DOCUMENT, section, text_of, topic

# Some nine thousand for each operation, a tenth of it where it is packed.
RAW_LIMIT = 500_000


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


def test_page_shows_the_resources_in_order_and_creates_a_subscriber_first(made: str) -> None:
    resources = re.findall(r'<section class="resource" id="([^"]+)"', made)
    operations = re.findall(r'<section class="operation" id="([^"]+)"', made)

    assert resources == [
        "subscribers",
        "tags",
        "custom-fields",
        "merge-tags",
        "suppressions",
        "webhooks",
        "api-keys",
    ]
    assert operations[0] == "CreateSubscriber"
    first_call = text_of(topic(made, "introduction"))
    assert "/api/subscribers" in first_call
    assert "ada@example.com" in first_call


def test_document_text_is_escaped() -> None:
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
