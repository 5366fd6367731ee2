"""Imports of files that other services export. The people in them are invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_subscriber
from .streams import Row, send_table
from .test_import import outcomes, rejections

FILES = Path(__file__).parent / "exports"
U, C, OUT, B, X = "UNCONFIRMED", "CONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"


def text_of(name: str) -> str:
    return (FILES / f"{name}.csv").read_text()


def import_file(account: Account, name: str, **options: Any) -> Row:
    """Imports a file, expects every row to be created, and returns the summary."""
    streamed = send_table(account, text_of(name), **options)
    assert streamed.error is None, streamed.error
    assert set(outcomes(streamed.records)) == {"CREATED"}
    assert streamed.summary is not None
    return streamed.summary


def stored(account: Account) -> dict[str, Row]:
    """Returns the subscribers by the name in their addresses."""
    rows = account.ok("ListSubscribers", view="FULL", limit=100)["subscribers"]
    return {row["email"].partition("@")[0]: row for row in rows}


def statuses(account: Account) -> dict[str, str]:
    return {name: row["status"] for name, row in sorted(stored(account).items())}


EXPORTS: dict[str, tuple[str, dict[str, str], str]] = {
    "mailchimp_subscribed": ("MAILCHIMP", {"ada": C, "bob": C}, "2021-03-04T05:06:07.000Z"),
    "mailchimp_unsubscribed": (
        "MAILCHIMP",
        {"carol": OUT, "dan": OUT, "erin": OUT},
        "2020-01-01T10:00:00.000Z",
    ),
    "mailchimp_cleaned": ("MAILCHIMP", {"frank": B}, "2020-05-05T05:05:05.000Z"),
    "kit": (
        "KIT",
        {"ada": C, "bob": OUT, "carol": B, "dan": X, "erin": U},
        "2021-03-04T05:06:07.000Z",
    ),
    "buttondown": (
        "BUTTONDOWN",
        {"ada": C, "bob": OUT, "carol": B, "dan": U, "erin": C},
        "2021-03-04T05:06:07.123Z",
    ),
    "emailoctopus": (
        "EMAILOCTOPUS",
        {"ada": C, "bob": OUT, "carol": U, "dan": B},
        "2021-03-04T05:06:07.000Z",
    ),
    "substack": ("SUBSTACK", {"ada": C, "bob": OUT, "carol": U}, "2021-03-04T05:06:07.000Z"),
    "beehiiv": (
        "BEEHIIV",
        {"ada": C, "bob": OUT, "carol": U, "dan": B},
        "2021-03-04T05:06:07.000Z",
    ),
    "substack_paying": ("SUBSTACK", {"ada": C, "bob": OUT}, ""),
    "mailchimp_german": ("MAILCHIMP", {"ada": OUT}, "2021-03-04T05:06:07.000Z"),
    "ghost": ("GHOST", {"ada": C, "bob": OUT, "carol": U}, "2021-03-04T05:06:07.000Z"),
    "mailerlite": (
        "MAILERLITE",
        {"ada": C, "bob": OUT, "carol": X, "dan": B, "erin": U},
        "2021-03-04T05:06:07.000Z",
    ),
    "brevo": ("BREVO", {"ada": C, "bob": OUT, "carol": U}, "2021-03-04T05:06:07.000Z"),
    "hubspot": (
        "HUBSPOT",
        {"ada": U, "bob": OUT, "carol": B, "dan": OUT},
        "2021-03-04T05:06:00.000Z",
    ),
    "klaviyo": (
        "KLAVIYO",
        {"ada": C, "bob": OUT, "carol": B, "dan": X, "erin": OUT, "frank": OUT},
        "2021-03-04T05:06:07.000Z",
    ),
    "activecampaign": (
        "ACTIVECAMPAIGN",
        {"ada": C, "bob": OUT, "carol": B, "dan": U},
        "2021-03-04T05:06:07.000Z",
    ),
    "listmonk": ("LISTMONK", {"ada": C, "bob": OUT, "carol": OUT}, "2021-03-04T05:06:07.123Z"),
}


def test_mark_in_a_column_that_is_ignored_states_nothing(account: Account) -> None:
    import_file(account, "klaviyo", ignoreColumns=["Email Suppressions Timestamp"])

    assert statuses(account) == EXPORTS["klaviyo"][1] | {"frank": C}


@pytest.mark.parametrize(
    "option", [{"ignoreColumns": ["UNSUB_TIME"]}, {"columnMap": ["UNSUB_TIME="]}]
)
def test_opt_outs_of_mailchimp_hold_in_a_column_that_is_ignored(
    account: Account, option: dict[str, Any]
) -> None:
    table = (
        "Email Address,OPTIN_TIME,UNSUB_TIME,CLEAN_TIME,LEID,EUID\n"
        "ada@example.com,2021-03-04 05:06:07,,,1,a\n"
        "bob@example.com,2021-03-04 05:06:07,2022-03-04 05:06:07,,2,b\n"
    )

    send_table(account, table, **option)

    assert statuses(account) == {"ada": C, "bob": OUT}


@pytest.mark.parametrize("name", EXPORTS)
def test_export_of_another_service_is_detected_and_keeps_statuses_and_times(
    account: Account, name: str
) -> None:
    preset, expected, created_at = EXPORTS[name]

    summary = import_file(account, name)

    assert summary["preset"] == preset
    assert statuses(account) == expected
    counts = {status: list(expected.values()).count(status) for status in expected.values()}
    assert summary["statuses"] == counts
    first = stored(account)[next(iter(expected))]
    assert not created_at or first["createdAt"] == created_at


@pytest.mark.parametrize("name", ["kit", "buttondown", "emailoctopus", "beehiiv"])
def test_tags_of_another_service_are_separated(account: Account, name: str) -> None:
    import_file(account, name)

    assert stored(account)["ada"]["tags"] == ["press", "vip"]


def test_mailchimp_export_has_tags_without_quotes_and_consent(account: Account) -> None:
    summary = import_file(account, "mailchimp_subscribed")

    ada, bob = stored(account)["ada"], stored(account)["bob"]
    assert (ada["firstName"], ada["lastName"]) == ("Ada", "Lovelace")
    assert ada["tags"] == ["Customer, loyal", "vip"]
    assert ada["consent"] == {"ip": "192.0.2.11", "at": "2021-03-04T05:10:00.000Z"}
    assert ada["confirmedAt"] == "2021-03-04T05:10:00.000Z"
    # Without the time of a form, the person was added at the time of the confirmation.
    assert bob["createdAt"] == "2022-02-02T02:02:02.000Z"
    assert {"LATITUDE", "NOTES", "Address"} <= set(summary["ignoredColumns"])
    assert (summary["unrecognizedCells"], summary["createdFields"]) == ([], [])


def test_mailchimp_opt_outs_keep_their_times_and_unclear_dates_are_reported(
    account: Account,
) -> None:
    summary = import_file(account, "mailchimp_unsubscribed")

    assert summary["ignoredColumns"] == [
        *("MEMBER_RATING", "UNSUB_CAMPAIGN_TITLE", "UNSUB_CAMPAIGN_ID", "UNSUB_REASON"),
        *("UNSUB_REASON_OTHER", "LEID", "EUID", "NOTES"),
    ]
    carol = stored(account)["carol"]
    assert carol["unsubscribedAt"] == carol["statusChangedAt"] == "2023-06-07T08:09:10.000Z"
    assert "unsubscribedAt" not in stored(account)["dan"]
    assert sorted(summary["unrecognizedCells"], key=lambda cells: cells["column"]) == [
        {"column": "CONFIRM_TIME", "rows": 1, "example": "sometime", "examples": ["sometime"]},
        {"column": "UNSUB_TIME", "rows": 1, "example": "last June", "examples": ["last June"]},
    ]


def test_mailchimp_contact_without_a_confirmation_is_unconfirmed(account: Account) -> None:
    send_table(
        account,
        "Email Address,OPTIN_TIME,CONFIRM_TIME,LEID,EUID\n"
        "a@b.io,2023-06-07 08:09:10,2023-06-07 08:09:10,1,a\nb@b.io,,,2,b\nc@b.io,,soon,3,c\n",
    )

    assert statuses(account) == {"a": C, "b": U, "c": U}


def test_unclear_status_with_a_time_of_unsubscription_is_an_opt_out(account: Account) -> None:
    send_table(
        account,
        "email_address,type,creation_date,unsubscription_date\n"
        "a@b.io,odd,2021-01-01,2022-01-01\nb@b.io,,2021-01-01,2022-01-01\n"
        "c@b.io,regular,2021-01-01,2022-01-01\nd@b.io,undeliverable,2021-01-01,2022-01-01\n",
    )

    assert statuses(account) == {"a": OUT, "b": OUT, "c": OUT, "d": OUT}


def test_unknown_status_word_is_reported_and_fails_its_row(account: Account) -> None:
    text = text_of("kit") + "6,,frank@example.com,hibernating,2021-03-09,\n"

    streamed = send_table(account, text)

    assert rejections(streamed.records)[5:] == [("INVALID_FIELD", "status")]
    assert streamed.summary is not None
    (cells,) = streamed.summary["unrecognizedCells"]
    assert "statusMap" in cells.pop("hint")
    assert cells == {
        "column": "State",
        "rows": 1,
        "example": "hibernating",
        "examples": ["hibernating"],
    }


def test_export_never_resubscribes_an_existing_subscriber(account: Account) -> None:
    create_subscriber(account, email="ada@example.com")
    account.ok("ChangeSubscriberStatus", id="ada@example.com", status=OUT)
    create_subscriber(account, email="bob@example.com", isConfirmed=True)

    streamed = send_table(account, text_of("kit"), onConflict="UPDATE")

    assert [result.get("statusKept", False) for result in streamed.records[:2]] == [True, False]
    assert statuses(account)["ada"] == statuses(account)["bob"] == OUT


def test_own_export_is_detected_and_unknown_columns_fail(account: Account) -> None:
    header = "id,email,firstName,lastName,status,tags,createdAt"

    summary = send_table(account, f"{header}\n").summary
    error = send_table(account, f"{header},town\n").error

    assert summary is not None
    assert summary["preset"] == "ROSTER"
    assert error is not None
    assert error.violations == [("town", "UNKNOWN_FIELD")]
