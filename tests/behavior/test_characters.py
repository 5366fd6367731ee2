"""Rejected characters: control characters, and names of invisible characters."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.server.features.subscribers.models import Subscriber
from rosterd.server.features.subscribers.store_reading import ONE
from rosterd.server.storage.statements import Statement, params

from ..conftest import Account
from .helpers import (
    create_field,
    create_subscriber,
    create_subscriber_in,
    emails,
    failures,
    stored,
    tag_names,
)
from .streams import export, import_rows, import_table, send_export, written_table

_RENAME = Statement(lambda _: Subscriber.update(params(Subscriber.last_name)).where(ONE))
CONTROLS = ["\0", "\x7f"]
LINES = "a\tb\nc\r\nd"
INVISIBLE = ["\u200b", " \u200b\u2060 ", "\u3164", "\U000e0020"]


@pytest.mark.parametrize("name", ["tag", "afterId"])
def test_control_characters_in_an_export_filter_are_rejected(account: Account, name: str) -> None:
    for control in (*CONTROLS, "\n"):
        ended = send_export(account, **{name: f"a{control}b"})

        assert ended.error is not None
        assert (ended.error.status, ended.error.code) == (400, "ValidationError")
        assert ended.error.violations == [(name, "INVALID_CHARACTER")]


# A name can become part of a header of a mail.
NAMES = [*"\0\n\x85\u2028"]


@pytest.mark.parametrize("control", NAMES)
def test_names_of_rows_have_no_control_characters_or_line_breaks(
    account: Account, control: str
) -> None:
    name = f"a{control}"
    rows = [{"email": "b@b.io", "firstName": name}, {"email": "c@b.io", "tags": [f"{name}b"]}]

    failed = account.ok("BulkCreateSubscribers", subscribers=rows)["failed"]

    assert [(row["reason"], row["email"]) for row in failed] == [
        ("INVALID_FIELD", "b@b.io"),
        ("INVALID_TAG", "c@b.io"),
    ]
    assert emails(account) == []


@pytest.mark.parametrize(
    ("name", "stored_name"),
    [("Ada\r\nKing", "Ada King"), ("\tAda\x85\u2028", "Ada"), ("Ada", "Ada")],
)
def test_line_breaks_in_names_and_tags_of_files_become_spaces(
    account: Account, name: str, stored_name: str
) -> None:
    import_rows(account, [{"email": "a@b.io", "firstName": name, "tags": [name]}])
    import_table(
        account, written_table([["email", "firstName", "lastName"], ["c@d.io", "C", name]])
    )

    rows = account.ok("ListSubscribers")["subscribers"]
    assert [(row["firstName"], row["lastName"]) for row in rows] == [
        (stored_name, ""),
        ("C", stored_name),
    ]
    assert tag_names(account) == [stored_name]


def test_stored_name_with_a_line_break_is_readable_and_kept(account: Account) -> None:
    ada, name = create_subscriber(account), "King\nof Lovelace"
    with account.service.unit_of_work() as tx:
        tx.run(_RENAME, account_id=account.id, id=ada["id"], last_name=name)

    account.ok("UpdateSubscriber", id=ada["id"], firstName="Ada")

    assert stored(account, ada)["lastName"] == name
    (row,) = export(account)
    account.ok("DeleteSubscriber", id=ada["id"])
    names = {key: row[key] for key in ("email", "firstName", "lastName")}
    (result,) = import_rows(account, [names])
    imported = account.ok("GetSubscriber", id=result["id"])["subscriber"]
    assert (imported["firstName"], imported["lastName"]) == ("Ada", "King of Lovelace")


def test_multiline_text_is_stored_verbatim(account: Account) -> None:
    create_field(account, "Note")
    words: dict[str, Any] = {"customFields": {"note": LINES}}

    created = create_subscriber(account, **words)
    account.ok("BulkCreateSubscribers", subscribers=[{"email": "bob@example.com", **words}])
    tag = account.ok("CreateTag", name="vip", description=LINES)["tag"]
    house = account.ok("CreateCustomField", label="House", fallback=LINES)["customField"]
    rendered = account.ok("RenderMergeTags", subscriberId=created["id"], body=LINES)

    bob = account.ok("GetSubscriber", id="bob@example.com")["subscriber"]
    for person in (stored(account, created), bob):
        assert {key: person[key] for key in words} == words
    assert (tag["description"], house["fallback"], rendered["body"]) == (LINES, LINES, LINES)


@pytest.mark.parametrize("control", CONTROLS)
def test_row_with_control_characters_fails_without_affecting_others(
    account: Account, control: str
) -> None:
    create_field(account, "Note")
    rows = [
        {"email": f"a{control}@b.io"},
        {"email": "a@b.io", "firstName": f"a{control}b"},
        {"email": "a@b.io", "lastName": f"{control}"},
        {"email": "a@b.io", "tags": [f"a{control}b"]},
        {"email": "a@b.io", "customFields": {"note": f"a{control}b"}},
        {"email": "a@b.io", "customFields": {f"note{control}": "b"}},
        {"email": "good@b.io"},
    ]
    reasons = ["INVALID_EMAIL", "INVALID_FIELD", "INVALID_FIELD", "INVALID_TAG"]
    reasons += ["INVALID_CUSTOM_FIELD", "UNKNOWN_CUSTOM_FIELD"]

    body = account.ok("BulkCreateSubscribers", subscribers=rows)
    results = import_rows(account, rows[:-1])

    assert failures(body) == list(enumerate(reasons))
    assert [result["reason"] for result in results] == reasons
    assert emails(account) == ["good@b.io"]


@pytest.mark.parametrize("name", INVISIBLE, ids=ascii)
def test_invisible_tag_name_is_rejected_like_a_blank_one(account: Account, name: str) -> None:
    created = create_subscriber_in(account, "CONFIRMED", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]
    required = ("tags[1]", "REQUIRED")

    for rpc, request, violation in [
        ("CreateTag", {"name": name}, ("name", "REQUIRED")),
        ("UpdateTag", {"id": tag["id"], "name": name}, ("name", "REQUIRED")),
        ("CreateSubscriber", {"email": "b@b.io", "tags": ["a", name]}, required),
        ("UpdateSubscriber", {"id": created["id"], "tags": ["a", name]}, required),
        ("AddSubscriberTags", {"id": created["id"], "tags": ["a", name]}, required),
        ("RemoveSubscriberTags", {"id": created["id"], "tags": ["vip", name]}, required),
    ]:
        assert account.fails("ValidationError", rpc, **request).violations == [violation], rpc
    row = {"email": "b@b.io", "tags": ["a", name]}
    assert failures(account.ok("BulkCreateSubscribers", subscribers=[row])) == [(0, "INVALID_TAG")]
    assert [result["reason"] for result in import_rows(account, [row])] == ["INVALID_TAG"]

    assert stored(account, created) == created
    assert tag_names(account) == ["vip"]
