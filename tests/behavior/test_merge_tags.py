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
        customFields={"town": "Paris", "age": 36.5, "member": True, "born": "1815-12-10"},
    )


def render(account: Account, who: dict[str, Any], **template: str) -> Any:
    return account.ok("RenderMergeTags", subscriberId=who["id"], **template)


def render_body(account: Account, who: dict[str, Any], template: str) -> str:
    """Renders a body, and checks that all keys are known."""
    rendered = render(account, who, body=template)
    assert rendered["unknown"] == []
    return str(rendered["body"])


def test_render_returns_subject_body_and_unknown_keys(
    account: Account, ada: dict[str, Any]
) -> None:
    response = account.call(
        "RenderMergeTags",
        subject="Dear {{firstName}}",
        body="<p>{{ lastName }}, {{customFields.town}}</p>",
        subscriberId=ada["id"],
    )

    assert response.status == 200
    assert response.body == {
        "subject": "Dear Ada",
        "body": "<p>Lovelace, Paris</p>",
        "unknown": [],
    }


@pytest.mark.parametrize(
    ("template", "rendered"),
    [
        ("{{email}}", "ada@example.com"),
        ("{{firstName}} {{lastName}}", "Ada Lovelace"),
        ("{{customFields.town}}", "Paris"),
        ("{{customFields.age}}", "36.5"),
        ("{{customFields.member}}", "true"),
        ("{{customFields.born}}", "1815-12-10"),
        ('{{firstName | fallback: "friend"}}', "Ada"),
        ('{{customFields.town | fallback: "home"}}', "Paris"),
        ("{{first-name}} {{first name}} {{ }} {{.}} {{ä|b}} }} {{", None),
        ("{customFields.town} {% if x %} {{#each}}", None),
        ("", None),
    ],
)
def test_known_merge_tags_are_replaced_and_other_text_is_unchanged(
    account: Account, ada: dict[str, Any], template: str, rendered: str | None
) -> None:
    response = render(account, ada, subject=template, body=template)

    expected = template if rendered is None else rendered
    assert response == {"subject": expected, "body": expected, "unknown": []}


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


def test_values_are_escaped_only_in_the_body(account: Account) -> None:
    create_field(account, "Town", fallback="<i>&")
    sign = "<b>\"Tom\" & 'Jerry'</b>"
    bob = create_subscriber(account, "o'bob&co@example.com", firstName=sign, lastName="&amp;")
    template = "<p>{{firstName}}|{{lastName}}|{{email}}|{{customFields.town}}</p>"

    rendered = render(account, bob, subject=template, body=template)

    assert rendered["subject"] == f"<p>{sign}|&amp;|o'bob&co@example.com|<i>&</p>"
    assert rendered["body"] == (
        "<p>&lt;b&gt;&quot;Tom&quot; &amp; &#x27;Jerry&#x27;&lt;/b&gt;|&amp;amp;|"
        "o&#x27;bob&amp;co@example.com|&lt;i&gt;&amp;</p>"
    )


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\u2028", "\x85"], ids=repr)
def test_line_break_in_a_value_cannot_break_the_subject(account: Account, end: str) -> None:
    create_field(account, "Town")
    evil = f"Ada{end}Bcc: all@example.com"
    bob = create_subscriber(account, customFields={"town": evil})

    rendered = render(
        account, bob, subject="Hi {{customFields.town}}", body="{{customFields.town}}"
    )

    assert rendered["subject"] == "Hi Ada Bcc: all@example.com"
    assert rendered["body"] == evil


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
