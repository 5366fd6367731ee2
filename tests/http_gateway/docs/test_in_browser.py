"""The pages of the documentation in a browser: samples, search, forms and requests."""

from __future__ import annotations

import json
import re
import shlex
from ast import literal_eval
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Reader

pytestmark = pytest.mark.verify

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
NARROWEST = 360


def test_page_loads_in_one_request_without_problems(reader: Reader) -> None:
    reader.open()

    expect(reader.page).to_have_title("Roster API reference")
    assert reader.requests == [reader.url]
    assert reader.problems == []


def test_samples_use_the_address_of_the_page_and_the_key(reader: Reader) -> None:
    reader.open()
    code = reader.page.locator("#ListTags .sample.chosen code")
    expect(code).to_contain_text("$ROSTER_API_KEY")
    expect(code).to_contain_text(f'"http://{urlsplit(reader.url).netloc}/api/tags')

    reader.enter_key()
    expect(code).not_to_contain_text(reader.key)
    reader.page.get_by_role("button", name="Show").click()
    expect(code).to_contain_text(f"Bearer {reader.key}")

    reader.page.locator("#ListTags").get_by_role("button", name="Python").click()
    expect(code).to_contain_text(f'"Bearer " + "{reader.key}"')
    expect(reader.page.locator("#GetTag .sample.chosen")).to_contain_text("import requests")


def test_copied_sample_contains_the_masked_key(user: Reader) -> None:
    panel = user.page.locator("#ListTags .samples")
    expect(panel.locator(".chosen code")).not_to_contain_text(user.key)

    panel.locator(".copy").click()

    expect(panel.locator(".copy")).to_have_text("Copied")
    copied = user.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("curl ")
    assert f"Bearer {user.key}" in copied


@pytest.mark.parametrize("reader", [PHONE], indirect=True, ids=["360"])
def test_page_fits_a_narrow_screen_with_everything_expanded(reader: Reader) -> None:
    reader.open()
    reader.page.evaluate("document.querySelectorAll('details').forEach((each) => each.open = true)")
    reader.enter_key()
    reader.send(reader.page.locator("#CreateSubscriber .try"))

    width = reader.page.evaluate("document.documentElement.scrollWidth")

    assert width <= NARROWEST


@pytest.mark.parametrize("reader", [{"java_script_enabled": False}], indirect=True, ids=["plain"])
def test_reference_can_be_read_without_scripts(reader: Reader) -> None:
    reader.open()
    page = reader.page

    expect(page.locator("#CreateSubscriber .sample").nth(2)).to_be_visible()
    expect(page.locator("#CreateSubscriber .fields").first).to_be_visible()
    expect(page.locator("#CreateSubscriber .try")).to_be_hidden()
    expect(page.locator("#CreateSubscriber .samples > header")).to_be_hidden()
    expect(page.locator(".navigation")).to_be_visible()


def search(reader: Reader, text: str) -> Locator:
    """Opens the search with the keyboard, enters text and returns the results."""
    reader.page.keyboard.press("/")
    expect(reader.page.get_by_role("combobox", name="Search")).to_be_focused()
    reader.page.keyboard.type(text)
    return reader.page.locator("#results [role=option]")


@pytest.mark.parametrize(
    ("text", "title", "url"),
    [
        ("delete tag", "Delete tag", "/docs#DeleteTag"),
        ("double opt-in", "Double opt-in", "/docs/guides/consent#double-opt-in"),
        ("isConfirmed create", "isConfirmed", "/docs#CreateSubscriber"),
    ],
)
def test_enter_opens_the_first_result(
    guide_reader: Reader, text: str, title: str, url: str
) -> None:
    guide_reader.open()

    expect(search(guide_reader, text).first.locator("strong")).to_have_text(title)
    guide_reader.page.keyboard.press("Enter")

    expect(guide_reader.page).to_have_url(guide_reader.url.partition("/docs")[0] + url)
    assert guide_reader.problems == []


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


def test_user_creates_a_subscriber_and_finds_it_in_the_list(user: Reader) -> None:
    create = user.form("CreateSubscriber")
    assert user.send(create) == "201 Created"
    expect(create.locator(".response pre")).to_contain_text('"email": "ada@example.com"')
    expect(create.locator(".response")).to_contain_text("X-Request-Id")

    found = user.form("ListSubscribers")
    found.get_by_label("limit").fill("5")
    assert user.send(found) == "200 OK"
    expect(found.locator(".response pre")).to_contain_text('"email": "ada@example.com"')
    expect(found.locator(".response pre")).to_contain_text('"limit": 5')


def test_created_resource_is_deleted_by_its_id_after_a_confirmation(user: Reader) -> None:
    create = user.form("CreateTag")
    create.get_by_label("Body").fill('{"name": "soon gone"}')
    user.send(create)
    delete = user.form("DeleteTag")
    before = len(user.requests)

    delete.locator(".send button").click()
    expect(delete.locator(".send button")).to_have_text("Press again to delete")
    assert user.requests[before:] == []

    assert user.send(delete) == "204 No Content"
    expect(delete.locator(".send button")).to_have_text("Send")


def test_errors_invalid_headers_and_an_unreachable_server_are_reported(reader: Reader) -> None:
    reader.open()
    form = reader.form("ListTags")

    assert reader.send(form) == "401 Unauthorized"
    expect(form.locator(".response .status")).to_have_class(re.compile(r"\bbad\b"))
    expect(form.locator(".response pre")).to_contain_text('"code": "Unauthorized"')
    expect(reader.page.get_by_role("status")).to_have_text("Response 401 Unauthorized")

    reader.page.fill("#key", "rk_ключ")
    form.locator(".send button").click()
    expect(form.locator(".response")).to_have_text("The API key contains invalid characters.")

    reader.enter_key()
    reader.page.context.set_offline(True)
    form.locator(".send button").click()
    expect(form.locator(".response")).to_contain_text("The server cannot be reached")


def test_markup_in_a_response_is_shown_as_text(user: Reader) -> None:
    form = user.form("CreateTag")
    form.get_by_label("Body").fill('{"name": "<img src=x onerror=alert(1)>"}')

    user.send(form)

    expect(form.locator(".response pre")).to_contain_text("<img src=x onerror=alert(1)>")
    assert user.page.locator("img").count() == 0


def test_key_is_stored_for_the_tab_and_is_in_no_url(reader: Reader) -> None:
    reader.open()
    reader.enter_key()
    reader.send(reader.form("ListTags"))
    reader.page.reload()

    expect(reader.page.locator("#key")).to_have_value(reader.key)
    expect(reader.page.locator("#key")).to_have_attribute("type", "password")
    assert reader.page.evaluate("Object.values(localStorage)").count(reader.key) == 0
    assert not [url for url in reader.requests if reader.key in url]
    other = reader.page.context.new_page()
    other.goto(reader.url)
    expect(other.locator("#key")).to_have_value("")


def test_public_operation_is_sent_without_the_api_key(user: Reader) -> None:
    form = user.form("SubmitUnsubscribePage")
    form.get_by_label("token").fill("x")
    form.get_by_label("Body").fill("action=undo")

    with user.page.expect_request("**/u/x") as sent:
        assert user.send(form) == "404 Not Found"

    assert sent.value.post_data == "action=undo"
    assert sent.value.headers["content-type"] == "application/x-www-form-urlencoded"
    assert "authorization" not in sent.value.headers
    expect(form.locator(".needs-key")).to_have_count(0)
    sample = user.page.locator('#SubmitUnsubscribePage .sample[data-language="grpc"]')
    assert "undo" not in (sample.text_content() or "")
    assert '"token": "x"' in (sample.text_content() or "")


# More than the server accepts before the client reads the response.
ROWS = 2_500


def paste(form: Locator, text: str) -> None:
    """Sets the body of a form directly, which is faster than typing."""
    body = form.get_by_label("Body")
    body.evaluate("(body, text) => { body.value = text; }", text)
    body.dispatch_event("input")


def test_import_is_read_to_its_end_and_all_failures_are_shown(reader: Reader) -> None:
    reader.open()
    reader.enter_key()
    rows = [{"email": f"row{n}@example.com", "tags": ["pasted"]} for n in range(ROWS)]
    form = reader.form("ImportSubscribers")
    form.get_by_label("Content-Type").select_option("application/x-ndjson")
    paste(form, "\n".join(json.dumps(row) for row in [*rows, {"email": "no address"}, rows[0]]))

    assert reader.send(form) == "200 OK"

    summary = f"{ROWS:,} CREATED, 2 FAILED"
    expect(form.locator(".outcomes")).to_have_text(summary)
    expect(reader.page.get_by_role("status")).to_have_text(f"Response 200 OK: {summary}")
    failed = form.get_by_role("group", name="Records that failed").inner_text().splitlines()
    assert [json.loads(line)["line"] for line in failed] == [ROWS + 1, ROWS + 2]
    shown = form.get_by_role("group", name="Records", exact=True).inner_text().splitlines()
    # The last record is the summary.
    assert (len(shown), shown[-1]) == (201, "… and 2,303 more")
    found = reader.form("ListSubscribers")
    found.get_by_label("tag").fill("pasted")
    reader.send(found)
    expect(found.locator(".response pre")).to_contain_text(f'"total": {ROWS}')

    exported = reader.form("ExportSubscribers")
    exported.get_by_label("tag").fill("pasted")
    reader.send(exported)
    lines = exported.locator(".response pre").inner_text().splitlines()
    assert (len(lines), lines[-1]) == (201, "… and more, which were not requested")
