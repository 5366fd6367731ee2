"""Rendering of merge tags over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber

FIELDS = {"town": "TEXT", "age": "NUMBER", "member": "BOOLEAN", "born": "DATE"}


@pytest.fixture
def ada(account: Account) -> dict[str, Any]:
    """A subscriber with names and a value of each data type."""
    for key, data_type in FIELDS.items():
        create_field(account, key, data_type)
    return create_subscriber(
        account,
        firstName="Ada",
        lastName="Lovelace",
        customFields={"town": "Paris & co", "age": 36.5, "member": True, "born": "1815-12-10"},
    )


def render(account: Account, who: dict[str, Any], **template: str) -> Any:
    return account.ok("RenderMergeTags", subscriberId=who["id"], **template)


def render_body(account: Account, who: dict[str, Any], template: str) -> str:
    """Renders a body, and checks that all keys are known."""
    rendered = render(account, who, body=template)
    assert rendered["unknown"] == []
    return str(rendered["body"])


def test_values_of_every_type_are_rendered_in_subject_and_body(
    account: Account, ada: dict[str, Any]
) -> None:
    template = "<p>{{ firstName }}|" + "|".join(f"{{{{customFields.{key}}}}}" for key in FIELDS)

    response = account.call(
        "RenderMergeTags", subject=template, body=template, subscriberId=ada["id"]
    )

    assert response.status == 200
    subject = "<p>Ada|Paris & co|36.5|true|1815-12-10"
    body = subject.replace("&", "&amp;")
    assert response.body == {"subject": subject, "body": body, "unknown": []}


def test_missing_value_uses_the_fallback_of_the_tag_then_of_the_field(
    account: Account,
) -> None:
    create_field(account, "Town", fallback="somewhere")
    create_field(account, "Street")
    bob = create_subscriber(account, "bob@example.com")

    assert render_body(account, bob, '{{customFields.town | fallback: "home"}}') == "home"
    assert render_body(account, bob, "{{customFields.town}}") == "somewhere"
    assert render_body(account, bob, '{{customFields.town | fallback: ""}}') == ""
    assert render_body(account, bob, '{{customFields.street | fallback: "a road"}}') == "a road"
    assert render_body(account, bob, "[{{customFields.street}}]") == "[]"
    assert (
        render_body(account, bob, '{{firstName | fallback: "friend"}}[{{lastName}}]') == "friend[]"
    )


def test_misspelled_names_are_removed_and_listed_with_suggestions(
    account: Account, ada: dict[str, Any]
) -> None:
    rendered = render(
        account,
        ada,
        subject='Dear {{firstname}}{{ nickname | fallback: "friend" }}',
        body="[{{unsubscribe_url}}{{subscriber.firstName}}{{customFields.twon}}{{x1}}]",
    )

    unknown = ["firstname", "nickname", "unsubscribe_url", "subscriber.firstName", "twon", "x1"]
    suggestions = rendered.pop("suggestions")
    assert rendered == {"subject": "Dear friend", "body": "[]", "unknown": unknown}
    assert suggestions == {
        "firstname": "firstName",
        "unsubscribe_url": "unsubscribeUrl",
        "subscriber.firstName": "firstName",
        "twon": "customFields.town",
    }
