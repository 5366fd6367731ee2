"""The reference of operations without an API key, and of bodies that are not JSON."""

from __future__ import annotations

import re

from rosterd.http_gateway.docs.site import Site
from rosterd.http_gateway.openapi.document import document
from rosterd.server.serving.gateway_policy import POLICY

from ...cases import each
from ..page_service import SERVICE
from .html import sample, section

DOCUMENT = document([SERVICE], POLICY)
HTML = Site(DOCUMENT, [SERVICE], POLICY).reference().html.decode()
LANGUAGES = ("curl", "python", "javascript", "grpc")
PUBLIC = ("GetPage", "SubmitPage")


@each("language", LANGUAGES)
@each("name", PUBLIC)
def test_sample_of_a_public_operation_has_no_api_key(name: str, language: str) -> None:
    text = sample(HTML, name, language)

    assert not re.search("authorization|API_KEY|environ", text, re.IGNORECASE)
    assert re.search("authorization", sample(HTML, "CreateItem", language), re.IGNORECASE)


@each(
    ("name", "language", "expected"),
    [
        ("SubmitPage", "curl", 'curl -X POST "http://127.0.0.1:8080/pages/"'),
        (
            "SubmitPage",
            "python",
            'import requests\n\nresponse = requests.post(\n    "http://127.0.0.1:8080/pages/",\n'
            "    headers={},\n)\nprint(response.status_code, response.text)",
        ),
        (
            "GetPage",
            "javascript",
            'const response = await fetch("http://127.0.0.1:8080/pages/", {\n  headers: {},\n});\n'
            "console.log(response.status, await response.text());",
        ),
    ],
)
def test_sample_of_an_http_body_is_complete(name: str, language: str, expected: str) -> None:
    assert sample(HTML, name, language) == expected


@each("name", PUBLIC)
def test_form_of_a_public_operation_sends_no_api_key(name: str) -> None:
    assert "Requests require an API key." not in section(HTML, name)
    assert 'data-public="true"' in section(HTML, name)
    assert "Requests require an API key." in section(HTML, "CreateItem")
    assert "data-public" not in section(HTML, "CreateItem")
