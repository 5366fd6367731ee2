"""Opt-outs in imported columns, tags and custom fields that are not named for consent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field
from .streams import send_rows, send_table, written_table
from .test_import import by_address, outcomes
from .test_import_consent import imported_statuses

OF_STATES = (
    *(("State", "Deleted", "UNSUBSCRIBED"), ("Type", "bounced", "BOUNCED")),
    *(("Result", "hard bounce", "BOUNCED"), ("Event", "complained", "COMPLAINED")),
    *(("Delivery Status", "Bounced", "BOUNCED"), ("Drop reason", "Spam complaint", "COMPLAINED")),
    *(("Group", "Unsubscribed", "UNSUBSCRIBED"), ("Membership Type", "opted-out", "UNSUBSCRIBED")),
    *(
        ("Membership Type", "Disabled", None),
        ("Group", "Archived", None),
        ("Group", "Deleted", None),
    ),
    *(("Result", "Invalid", None), ("Type", "Inactive", None), ("Payment", "Bounced", None)),
    *(("State", "Cancelled", None), ("Event", "Blocked", None), ("Result", "Removed", None)),
    *(("State", "Removed", "UNSUBSCRIBED"), ("member.state", "Blocked", "UNSUBSCRIBED")),
    *(("Subscriber type", "removed", "UNSUBSCRIBED"), ("Event", "failed", "BOUNCED")),
    *(("Result", "Failed", None), ("Note", "dÃ©sabonnÃ©e", "UNSUBSCRIBED")),
    *(("Note", "d\ufffdsabonn\ufffd", "UNSUBSCRIBED"), ("Type", "D?sinscrit", "UNSUBSCRIBED")),
    ("Note", "отписан".encode().decode("latin-1"), "UNSUBSCRIBED"),
    *(("Note", "dÃƒÂ©sinscrit", "UNSUBSCRIBED"), ("Note", "bÃ©bÃ©", None)),
    *(("Event", "spamreport", "COMPLAINED"), ("Event", "group_unsubscribe", "UNSUBSCRIBED")),
    *(("State", "Unsubscribed by admin (2021)", "UNSUBSCRIBED"), ("Type", "Bounced once", None)),
    *(("Result", "\u200bDésabonnée!", "UNSUBSCRIBED"), ("State", "(wypisana)", "UNSUBSCRIBED")),
    *(("contact.state", "Deleted", "UNSUBSCRIBED"), ("Type", "Unsubscribed: no", None)),
    *(("Event", "unsubscribed=false", None), ("Type", "Unsubscribed (SMS)", None)),
    *(("Estado", "Baja", "UNSUBSCRIBED"), ("Type", "ｕｎｓｕｂｓｃｒｉｂｅｄ", "UNSUBSCRIBED")),
    *(
        ("Labels", "vip, Unsubscribed", "UNSUBSCRIBED"),
        ("Groups", '["a","Opted-out"]', "UNSUBSCRIBED"),
    ),
    *(("Labels", "vip, Opt-out prices", None), ("Labels", "vip|Complained", None)),
    *(("Type", "abbestellt: Katalog", None), ("Result", "Blacklisted IP", None)),
    *(("Type", "Unsubscribed: yes", "UNSUBSCRIBED"), ("Group", "!!Unsubscribed!", "UNSUBSCRIBED")),
    *(
        ("Event", "Unsubscribed (phone call)", "UNSUBSCRIBED"),
        ("Group", "Opted out?", "UNSUBSCRIBED"),
    ),
    ("State", "Unsubscribed (SMS, mail)", "UNSUBSCRIBED"),
    *(("Delivery Status", "by_user", "UNSUBSCRIBED"), ("Delivery Status", "enabled", None)),
    ("Delivery Status", "by_bounces", "BOUNCED"),
    ("State", "Unsubscribed (List-Unsubscribe link)", "UNSUBSCRIBED"),
)


@pytest.mark.parametrize("has_fields", [False, True])
def test_word_in_a_column_of_states_counts_if_it_can_only_be_an_opt_out(
    account: Account, has_fields: bool
) -> None:
    names = list(dict.fromkeys(name for name, _, _ in OF_STATES))
    for name in names if has_fields else []:
        create_field(account, name)
    cells = [{"email": f"{n}@b.io", name: word} for n, (name, word, _) in enumerate(OF_STATES)]
    table = [
        ["email", *names],
        *([row.get(name, "") for name in ["email", *names]] for row in cells),
    ]
    as_json = [
        {"email": f"json{row.pop('email')}", "customFields": row} for row in map(dict, cells)
    ]

    stored = imported_statuses(account, written_table(table), unknownColumns="IGNORE")
    send_rows(account, as_json, unknownColumns="IGNORE")

    of_json = [by_address(account, f"json{n}@b.io")["status"] for n in range(len(OF_STATES))]
    expected = [status or "UNCONFIRMED" for _, _, status in OF_STATES]
    assert [stored[f"{n}@b.io"] for n in range(len(OF_STATES))] == expected
    assert of_json == expected


NESTED: tuple[tuple[Any, str | None], ...] = (
    ({"member": {"state": "removed"}}, "UNSUBSCRIBED"),
    ({"lists": [{"name": "News", "status": "cleaned"}]}, "BOUNCED"),
    ([["unsubscribed"]], "UNSUBSCRIBED"),
    ({"profile": {"opted_out": True}}, "UNSUBSCRIBED"),
    ({"subscribed_to_emails": False}, "UNSUBSCRIBED"),
    ({"unsubscribed": False, "is_subscribed": True, "is_deleted": False, "vip": False}, None),
    ({"sms": {"status": "unsubscribed"}}, None),
    ({"city": "Rome", "events": ["removed"]}, None),
    ({"wishlist": [{"status": "removed"}], "membership": {"status": "deleted"}}, None),
    ({"orders": [{"sku": "A", "status": "removed"}, {"event": "failed"}]}, None),
    ({"canUnsubscribe": True, "neverBounced": True, "consent_to_cookies": False}, None),
    ({"channel": "sms", "status": "unsubscribed"}, None),
    ({"unsubscribed": 1}, "UNSUBSCRIBED"),
    ({"unsubscribed_at": "2024-01-01"}, "UNSUBSCRIBED"),
)


def test_opt_out_in_a_json_value_of_a_custom_field_counts(account: Account) -> None:
    people = list(enumerate(NESTED))
    table = [["email", "Attributes"], ["x@b.io", "{broken"]]
    table += [[f"{n}@b.io", json.dumps(value)] for n, (value, _) in people]
    rows = [
        {"email": f"json{n}@b.io", "customFields": {"attributes": value}}
        for n, (value, _) in people
    ]

    stored = imported_statuses(account, written_table(table), unknownColumns="IGNORE")
    send_rows(account, rows, unknownColumns="IGNORE")

    expected = {f"{n}@b.io": status or "UNCONFIRMED" for n, (_, status) in people}
    assert stored == expected | {"x@b.io": "UNCONFIRMED"}
    of_json = {name: by_address(account, f"json{name}")["status"] for name in expected}
    assert of_json == expected


@pytest.mark.parametrize("action", ["IGNORE", "CREATE_FIELDS"])
def test_opt_out_in_a_column_without_a_name_for_it_counts(account: Account, action: str) -> None:
    table = (
        "email,State,Result,SMS,Zustand\na@b.io,Unsubscribed,,,\nb@b.io,,hard bounce,,\n"
        "c@b.io,CA,,unsubscribed,\nd@b.io,,,,abgemeldet\ne@b.io,cancelled,,,\n"
        "k@b.io,Deleted,,,\nl@b.io,Bounced,,,\nm@b.io,,Removed,,\n"
    )

    streamed = send_table(account, table, unknownColumns=action, ignoreColumns=["Zustand"])
    send_rows(account, [{"email": "f@b.io", "customFields": {"State": "opted-out"}}])
    as_json = send_rows(
        account,
        [
            {"email": "g@b.io", "customFields": {"Kind": "Unsubscribed"}},
            {"email": "h@b.io", "customFields": {"Kind": "other", "SMS": "unsubscribed"}},
            {"email": "i@b.io", "status": "CONFIRMED", "customFields": {"Kind": "unsubscribed"}},
        ],
        unknownColumns=action,
    )
    # The same words count once the column is a custom field of the account.
    send_table(account, "email,State\nj@b.io,unsubscribed,\n", unknownColumns=action)
    send_table(account, "email,State\no@b.io,Deleted\n", unknownColumns=action)
    send_table(account, "email,Type,City\nn@b.io,Deleted,Bonn,x\n", unknownColumns=action)

    assert streamed.summary is not None
    reported = streamed.summary["unrecognizedCells"]
    assert [each["column"] for each in reported] == ["State", "Result"]
    assert as_json.summary is not None
    (of_json,) = as_json.summary["unrecognizedCells"]
    assert (of_json["column"], of_json["rows"]) == ("customFields.Kind", 2)
    stored = {
        row["email"][0]: row["status"] for row in account.ok("ListSubscribers")["subscribers"]
    }
    mailable = dict.fromkeys("cdeh", "UNCONFIRMED")
    assert stored.items() >= {"a": "UNSUBSCRIBED", "b": "BOUNCED", "g": "UNSUBSCRIBED"}.items()
    assert stored.items() >= {"i": "UNSUBSCRIBED", "j": "UNSUBSCRIBED"}.items()
    assert {name: status for name, status in stored.items() if name in "cdeh"} == mailable
    assert [stored[name] for name in "klmno"] == [
        *("UNSUBSCRIBED", "BOUNCED", "UNCONFIRMED", "UNSUBSCRIBED", "UNSUBSCRIBED")
    ]
    assert stored.get("f") != "UNCONFIRMED"


def test_word_for_a_missing_confirmation_outweighs_that_all_people_confirmed(
    account: Account,
) -> None:
    table = "email,State\na@b.io,Unconfirmed\nb@b.io,CA\n"
    row = {"email": "c@b.io", "customFields": {"State": "not confirmed"}}
    options = {"isConfirmed": True, "unknownColumns": "IGNORE"}

    send_rows(account, [row], **options)

    assert imported_statuses(account, table, **options) == {
        "a@b.io": "UNCONFIRMED",
        "b@b.io": "CONFIRMED",
        "c@b.io": "UNCONFIRMED",
    }


def test_json_row_of_an_export_keeps_its_status_with_words_in_tags_and_custom_fields(
    account: Account,
) -> None:
    create_field(account, "Type")
    row = {"email": "a@b.io", "status": "CONFIRMED", "createdAt": "2024-01-01T00:00:00.000Z"}

    send_rows(account, [{**row, "tags": ["optedout"], "customFields": {"type": "complaint"}}])

    assert by_address(account, "a@b.io")["status"] == "CONFIRMED"


def test_tag_that_can_only_be_an_opt_out_counts_unless_the_column_is_mapped(
    account: Account,
) -> None:
    table = (
        'email,Tags\na@b.io,"vip, Unsubscribed"\nb@b.io,unsubscribed from print\n'
        "e@b.io,Complained\n"
    )
    rows = [
        {"email": "c@b.io", "tags": ["do-not-mail"]},
        {"email": "d@b.io", "tags": ["Unsubscribed"], "status": "CONFIRMED"},
        {"email": "f@b.io", "tags": ["hard-bounced"]},
    ]

    streamed = send_rows(account, rows, isConfirmed=True)
    stored = imported_statuses(account, table, isConfirmed=True)
    mapped = imported_statuses(account, table.replace("@", "@x."), columnMap=["Tags=tags"])
    # Of two columns of tags, only the one that no option names counts.
    two = "email,Tags,Labels\na@y.io,vip,Unsubscribed\nb@y.io,Unsubscribed,vip\n"
    both = send_table(account, two, columnMap=["Labels=tags"])

    assert outcomes(streamed.records) == ["CREATED"] * 3
    assert streamed.summary is not None
    assert both.summary is not None
    assert [each["column"] for each in both.summary["unrecognizedCells"]] == ["Tags"]
    assert "columnMap=Tags=tags" in both.summary["unrecognizedCells"][0]["hint"]
    assert "ignoreColumns" not in streamed.summary["unrecognizedCells"][0]["hint"]
    assert by_address(account, "a@y.io")["status"] == "UNCONFIRMED"
    assert by_address(account, "b@y.io")["status"] == "UNSUBSCRIBED"
    assert [stored[f"{name}@b.io"] for name in "abcdef"] == [
        *("UNSUBSCRIBED", "CONFIRMED", "UNSUBSCRIBED", "UNSUBSCRIBED", "CONFIRMED", "UNSUBSCRIBED"),
    ]
    assert by_address(account, "a@b.io")["tags"] == ["Unsubscribed", "vip"]
    assert mapped["a@x.b.io"] == "UNCONFIRMED"
