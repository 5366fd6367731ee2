"""The forms of the reference in a browser, and the code samples that follow them."""

from __future__ import annotations

import json
import shlex
from ast import literal_eval

import pytest
from playwright.sync_api import Locator

from .conftest import Reader

pytestmark = pytest.mark.verify


LANGUAGES = ("curl", "python", "javascript", "grpc")


def code(operation: Locator, language: str) -> str:
    """Returns the sample of an operation in a language."""
    return operation.locator(f'.sample[data-language="{language}"] code').text_content() or ""


def message_of(command: str) -> object:
    """Returns the request message of a grpcurl command."""
    words = shlex.split(command.replace("\\\n", ""))
    return json.loads(words[words.index("-d") + 1])


def body_of_curl(operation: Locator) -> object:
    return message_of(code(operation, "curl"))


def test_samples_show_the_values_of_the_form(reader: Reader) -> None:
    reader.open()
    operation = reader.page.locator("#UpdateTag")
    form = reader.form("UpdateTag")
    body = {"name": "it's", "a-b": [1, None, {"c": True}], "d": {}, "e": ["x"]}

    form.get_by_label("Method").select_option("PATCH")
    form.get_by_label("id", exact=True).fill("a b/c")
    form.get_by_label("Body").fill(json.dumps(body))
    form.locator("summary", has_text="Headers").click()
    form.get_by_label("X-Request-Id").fill('a"$b')

    curl, python, javascript, grpc = (code(operation, language) for language in LANGUAGES)
    assert curl.startswith(f'curl -X PATCH "{reader.url.removesuffix("/docs")}/api/tags/a%20b%2Fc"')
    assert '-H "X-Request-Id: a\\"\\$b"' in curl
    assert body_of_curl(operation) == body
    assert 'requests.patch(\n    "http' in python
    assert '\n        "X-Request-Id": "a\\"$b",\n' in python
    assert literal_eval(python.partition("json=")[2].rpartition(",\n)")[0]) == body
    assert 'method: "PATCH"' in javascript
    assert '\n    "a-b": [\n      1,\n      null,\n' in javascript
    assert message_of(grpc) == {
        "id": "a b/c",
        **body,
        "updateMask": {"paths": ["name", "a-b", "d", "e"]},
    }

    form.get_by_label("Body").fill('{"name": ')
    assert body_of_curl(operation) == body


def test_samples_of_an_import_show_its_rows_and_their_type(reader: Reader) -> None:
    reader.open()
    operation = reader.page.locator("#ImportSubscribers")
    form = reader.form("ImportSubscribers")

    form.get_by_label("Body").fill('{"email": "a"}\n{"email": "b"}')
    assert 'END\'\n{"email": "a"}\n{"email": "b"}\nEND' in code(operation, "curl")
    assert 'rows = [\n    {\n        "email": "a",\n' in code(operation, "python")
    assert message_of(code(operation, "grpc")) == {"subscribers": [{"email": "a"}, {"email": "b"}]}

    form.get_by_label("Body").fill("email\na")
    form.get_by_label("Content-Type").select_option("text/csv")
    assert '"Content-Type: text/csv"' in code(operation, "curl")
    assert "END'\nemail\na\nEND" in code(operation, "curl")
    assert 'rows = ["email", "a"]\n' in code(operation, "python")
    assert 'data="".join(row + "\\n" for row in rows)' in code(operation, "python")
    assert 'body: ["email", "a"].map((row) => row).join("\\n")' in code(operation, "javascript")
