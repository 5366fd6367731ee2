"""Rendering of merge tags over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import MISSING_ID, create_field, create_subscriber

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


@pytest.mark.one_front_per_case
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


def test_merge_tag_of_a_field_renders_its_value(account: Account) -> None:
    created = create_field(account, "Größe in cm", "NUMBER")
    bob = create_subscriber(account, "bob@example.com", customFields={created["key"]: 180})

    assert render_body(account, bob, f"{created['mergeTag']} cm") == "180 cm"


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


def test_removed_value_uses_the_fallback(account: Account, ada: dict[str, Any]) -> None:
    account.ok("UpdateSubscriber", id=ada["id"], customFields={"town": None}, firstName="")

    template = '{{customFields.town | fallback: "home"}} {{firstName | fallback: "friend"}}'
    assert render_body(account, ada, template) == "home friend"


def test_zero_and_false_are_rendered(account: Account) -> None:
    create_field(account, "Points", "NUMBER", fallback="none")
    create_field(account, "Member", "BOOLEAN", fallback="unknown")
    bob = create_subscriber(account, "bob@example.com", customFields={"points": 0, "member": False})

    template = '{{customFields.points | fallback: "no"}} {{customFields.member}}'
    assert render_body(account, bob, template) == "0 false"


@pytest.mark.one_front_per_case
@pytest.mark.parametrize(
    ("number", "text"),
    [(5, "5"), (-7, "-7"), (0.1, "0.1"), (-0.0, "0"), (1e21, "1" + "0" * 21), (2**53, str(2**53))],
)
def test_numbers_are_rendered_without_exponents(account: Account, number: float, text: str) -> None:
    create_field(account, "Points", "NUMBER")
    bob = create_subscriber(account, "bob@example.com", customFields={"points": number})

    assert render_body(account, bob, "{{customFields.points}}") == text


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


@pytest.mark.one_front_per_case
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


def test_inserted_values_are_not_rendered_again(account: Account) -> None:
    create_field(account, "Town")
    bob = create_subscriber(
        account,
        firstName="{{email}}",
        lastName="{{customFields.",
        customFields={"town": "{{customFields.town}}"},
    )

    template = "{{firstName}} {{lastName}}town}} {{customFields.town}}"
    assert render_body(account, bob, template) == (
        "{{email}} {{customFields.town}} {{customFields.town}}"
    )


def test_unknown_keys_are_removed_and_listed_once_in_order(
    account: Account, ada: dict[str, Any]
) -> None:
    rendered = render(
        account,
        ada,
        subject="{{customFields.zip}}!{{customFields.town}}",
        body='[{{customFields.area | fallback: "here"}}{{customFields.zip}}{{customFields.abc}}]',
    )

    assert rendered == {"subject": "!Paris", "body": "[]", "unknown": ["zip", "area", "abc"]}


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


def test_deleted_custom_field_is_unknown(account: Account, ada: dict[str, Any]) -> None:
    for custom_field in account.ok("ListCustomFields")["customFields"]:
        account.ok("DeleteCustomField", id=custom_field["id"])

    rendered = render(account, ada, body="[{{customFields.town}}]")

    assert (rendered["body"], rendered["unknown"]) == ("[]", ["town"])


def test_field_of_another_account_is_unknown(account: Account, other_account: Account) -> None:
    create_field(other_account, "Town", fallback="secret")
    bob = create_subscriber(account)

    rendered = render(account, bob, body="{{customFields.town}}")

    assert (rendered["body"], rendered["unknown"]) == ("", ["town"])


def test_subscriber_of_another_account_is_not_found(
    account: Account, other_account: Account
) -> None:
    theirs = create_subscriber(other_account)

    error = account.fails(
        "SubscriberNotFound", "RenderMergeTags", subject="{{email}}", subscriberId=theirs["id"]
    )

    assert error.status == 404


@pytest.mark.one_front_per_case
@pytest.mark.parametrize(
    ("body", "violation"),
    [
        ({"subscriberId": ""}, ("subscriberId", "REQUIRED")),
        ({"subscriberId": None}, ("subscriberId", "REQUIRED")),
        ({"subject": "x" * 1_001}, ("subject", "TOO_LONG")),
        ({"body": "x" * 500_001}, ("body", "TOO_LONG")),
    ],
    ids=["no subscriber", "null", "1,001 characters", "500,001 characters"],
)
@pytest.mark.parametrize("of", ["one that is there", MISSING_ID])
def test_render_validates_before_the_lookup(
    account: Account, body: dict[str, Any], violation: tuple[str, str], of: str
) -> None:
    bob = create_subscriber(account)
    target = bob["id"] if of == "one that is there" else of

    error = account.fails("ValidationError", "RenderMergeTags", **{"subscriberId": target, **body})

    assert (error.status, error.violations) == (400, [violation])


def test_templates_of_maximum_length_are_rendered(account: Account) -> None:
    bob = create_subscriber(account, firstName="B" * 100)
    subject, body = "é" * 987 + "{{firstName}}", "<br>" * 124_996 + "{{firstName}}   "
    assert (len(subject), len(body)) == (1_000, 500_000)

    rendered = render(account, bob, subject=subject, body=body)

    assert rendered["subject"] == "é" * 987 + "B" * 100
    assert rendered["body"] == "<br>" * 124_996 + "B" * 100 + "   "


@pytest.mark.one_front_per_case
@pytest.mark.parametrize(
    "piece",
    ["{", "{{", "{{email", "{{email|", '{{email | fallback: "', '{{email | fallback: "\\', "{{ "],
)
def test_template_of_unclosed_tags_is_unchanged(account: Account, piece: str) -> None:
    bob = create_subscriber(account)
    template = piece * (100_000 // len(piece))

    assert render_body(account, bob, template) == template


def test_long_template_with_many_commas_is_rendered(account: Account) -> None:
    bob = create_subscriber(account)
    prose = "Well, [yes], {no}, " * 8_000

    assert render_body(account, bob, prose) == prose


def test_read_key_can_render(account: Account, ada: dict[str, Any]) -> None:
    reader = account.with_key(account.new_key("read"))

    assert render_body(reader, ada, "{{firstName}}") == "Ada"
