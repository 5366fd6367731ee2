"""The forms of the reference in a browser, and the code samples that follow them."""

from __future__ import annotations

import json
import re
import shlex
from ast import literal_eval

import pytest
from playwright.sync_api import Locator, expect

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


def test_samples_of_a_query_contain_only_the_filled_in_parameters(reader: Reader) -> None:
    reader.open()
    form = reader.form("ListSubscribers")

    form.get_by_label("tag").fill("a&b")
    form.get_by_label("order", exact=True).select_option("desc")

    operation = reader.page.locator("#ListSubscribers")
    for language in ("curl", "python", "javascript"):
        assert '/api/subscribers?tag=a%26b&order=desc"' in code(operation, language)
    form.get_by_label("limit").fill("5")
    message = {"limit": 5, "tag": "a&b", "order": "desc"}
    assert message_of(code(operation, "grpc")) == message


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


def test_sample_does_not_change_if_the_form_has_not_changed(reader: Reader) -> None:
    reader.open()

    for operation in ("CreateSubscriber", "UpdateTag", "ImportSubscribers"):
        sample, form = reader.page.locator(f"#{operation}"), reader.form(operation)
        before = [code(sample, language) for language in LANGUAGES]
        # The sample has the first query parameter. The form has none by default.
        if operation == "ImportSubscribers":
            form.get_by_label("onConflict").select_option("SKIP")
        form.get_by_label("Body").dispatch_event("input")
        assert [code(sample, language) for language in LANGUAGES] == before


def test_content_type_replaces_an_example_but_not_pasted_text(
    reader: Reader,
) -> None:
    reader.open()
    form = reader.form("ImportSubscribers")
    kind, body = form.get_by_label("Content-Type"), form.get_by_label("Body")

    kind.select_option("text/csv")
    expect(body).to_have_value("email,firstName,tags\nada@example.com,Ada,early;vip\n")
    kind.select_option("application/x-ndjson")
    expect(body).to_have_value(re.compile(r'^{"email": "ada@example.com", .*}$'))

    body.fill("email\nmine@example.com")
    kind.select_option("text/csv")
    expect(body).to_have_value("email\nmine@example.com")


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
def test_body_is_sent_with_the_keyboard(user: Reader, keys: str) -> None:
    form = user.form("CreateTag")
    form.get_by_label("Body").fill(json.dumps({"name": f"sent by {keys}"}))

    form.get_by_label("Body").press(keys)

    expect(form.locator(".response .status")).to_have_text("201 Created")


def test_body_refers_to_the_subscriber_that_was_just_created(
    reader: Reader,
) -> None:
    reader.open()
    reader.enter_key()
    create, render = reader.form("CreateSubscriber"), reader.form("RenderMergeTags")
    create.get_by_label("Body").fill('{"email": "merged@example.com"}')
    reader.send(create)

    assert reader.send(render) == "200 OK"

    created = create.locator(".response pre").inner_text()
    sent = render.get_by_label("Body").input_value()
    assert json.loads(sent)["subscriberId"] == json.loads(created)["subscriber"]["id"]


def test_example_of_an_update_changes_one_field(reader: Reader) -> None:
    reader.open()

    for operation, body in (
        ("UpdateSubscriber", {"lastName": "Lovelace"}),
        ("UpdateTag", {"description": "People whom we know by name."}),
    ):
        text = reader.page.locator(f"#{operation}-body").input_value()
        assert json.loads(text) == body
