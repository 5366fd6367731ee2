"""Requests from the forms of the reference in a browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from .conftest import Reader

pytestmark = pytest.mark.verify


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
