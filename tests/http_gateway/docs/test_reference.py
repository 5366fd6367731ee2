"""`/docs` without a browser: headers, structure, links and escaping."""

from __future__ import annotations

import copy
import re
from base64 import b64encode
from hashlib import sha256

from rosterd.http_gateway.docs.site import Site
from rosterd.http_gateway.openapi.document import document
from rosterd.server.serving.gateway_policy import POLICY

from ...fronts import HttpFront
from ..routing.protos import library
from .html import DOCUMENT, SITE, section, text_of


def test_page_is_served_with_its_security_headers(http: HttpFront, rendered: str) -> None:
    status, headers, text = http.exchange("GET", "/docs")

    def without_ports(html: str) -> str:
        return re.sub(r"\b\d{5}\b", "PORT", html)

    assert status == 200
    assert without_ports(text.decode()) == without_ports(rendered)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-security-policy"] == SITE.reference().policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_policy_allows_only_the_inlined_style_and_scripts() -> None:
    page = SITE.reference()
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


def test_page_shows_any_service() -> None:
    html = Site(document([library()]), [library()]).reference().html.decode()

    route = text_of(section(html, "UpdateBook"))
    assert "/v1/shelves/{name1}/books/{name2}" in route
    assert 'href="/docs/webhooks"' not in html


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
    html = Site(content, policy=POLICY).reference().html.decode()

    assert text_of(html).count("alert(1)") > 100
    assert html.count("<script>") == 2
    assert "<img" not in html
    assert "<b>" not in re.sub(r"<b>\{\w+\}</b>", "", html)
    assert 'href="javascript' not in html
