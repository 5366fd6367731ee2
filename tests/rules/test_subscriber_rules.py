"""Validation of subscribers and rows, status transitions and search keys."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import (
    MAX_TAGS,
    Failure,
    NewSubscriber,
    RowError,
    check_email,
    check_number_of_tags,
    check_transition,
    initial_status,
    is_stricter,
    search_keys,
    search_text,
    validate_rows,
)
from rosterd.server.rpc.errors import InvalidStatusTransition, ValidationError


@dataclass(frozen=True)
class Fault:
    field: str


@dataclass(frozen=True)
class Row:
    """A row that is valid by default."""

    email: str = "ada@example.com"
    first_name: str = ""
    last_name: str = ""
    is_confirmed: bool = False
    tags: Sequence[str] = ()
    custom_fields: Mapping[str, Any] = field(default_factory=dict)
    faults: Sequence[Fault] = ()


WHOLE, FIELD = Fault(""), Fault("firstName")


def failure(row: Row) -> Failure | None:
    """Returns the error of a row, or None if it is valid."""
    (validated,) = validate_rows([row])
    return validated.failure if isinstance(validated, RowError) else None


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(Row(email=""), Failure.MISSING_EMAIL, id="no email"),
        pytest.param(Row(email=" \t"), Failure.MISSING_EMAIL, id="blank email"),
        pytest.param(Row(email="ada"), Failure.INVALID_EMAIL, id="malformed email"),
        pytest.param(Row(email=f"{'a' * 65}@x.de"), Failure.INVALID_EMAIL, id="long email"),
        pytest.param(Row(faults=[FIELD]), Failure.INVALID_FIELD, id="wrong type"),
        pytest.param(Row(first_name="a" * 101), Failure.INVALID_FIELD, id="long first name"),
        pytest.param(Row(last_name="a" * 101), Failure.INVALID_FIELD, id="long last name"),
        pytest.param(Row(first_name="a\0"), Failure.INVALID_FIELD, id="NUL in a name"),
        pytest.param(Row(tags=[""]), Failure.INVALID_TAG, id="empty tag"),
        pytest.param(Row(tags=["a", " "]), Failure.INVALID_TAG, id="blank tag"),
        pytest.param(Row(tags=["a" * 101]), Failure.INVALID_TAG, id="long tag"),
        pytest.param(Row(last_name="a\x1b"), Failure.INVALID_FIELD, id="escape in a name"),
        pytest.param(Row(tags=["a\0"]), Failure.INVALID_TAG, id="NUL in a tag"),
        pytest.param(Row(tags=["a\nb"]), Failure.INVALID_TAG, id="line break in a tag"),
        pytest.param(Row(tags=["\u200b"]), Failure.INVALID_TAG, id="invisible tag"),
        pytest.param(Row(tags=list(map(str, range(101)))), Failure.INVALID_TAG, id="101 tags"),
        pytest.param(Row(email="", faults=[WHOLE]), Failure.INVALID_ROW, id="no object"),
    ],
)
def test_invalid_row_fails_with_its_reason(row: Row, reason: Failure) -> None:
    assert failure(row) is reason


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        pytest.param(Row("", faults=[FIELD, WHOLE]), Failure.INVALID_ROW, id="row before field"),
        pytest.param(Row("", faults=[FIELD]), Failure.INVALID_FIELD, id="type before no email"),
        pytest.param(Row("ada", faults=[FIELD]), Failure.INVALID_FIELD, id="type before email"),
        pytest.param(Row("", "a" * 101), Failure.MISSING_EMAIL, id="no email before length"),
        pytest.param(Row("ada", "a" * 101), Failure.INVALID_EMAIL, id="email before length"),
        pytest.param(Row("ada", tags=[""]), Failure.INVALID_EMAIL, id="email before tag"),
        pytest.param(Row("", tags=[""]), Failure.MISSING_EMAIL, id="no email before tag"),
        pytest.param(
            Row(first_name="a" * 101, tags=[""]), Failure.INVALID_FIELD, id="length before tag"
        ),
    ],
)
def test_row_with_several_errors_fails_with_the_first(row: Row, reason: Failure) -> None:
    assert failure(row) is reason


def test_valid_row_is_stored_verbatim() -> None:
    values = {"no_such_field": None, "city": [1]}
    row = Row(
        " Ada@X.de ",
        " <b>Ada</b>",
        "=cmd()",
        is_confirmed=True,
        tags=[" Vip", "VIP", "b "],
        custom_fields=values,
    )

    (new,) = validate_rows([row])

    assert isinstance(new, NewSubscriber)
    assert (new.email.address, new.email.key) == ("Ada@X.de", "ada@x.de")
    assert new.profile == {"first_name": " <b>Ada</b>", "last_name": "=cmd()"}
    assert new.status is Status.CONFIRMED
    assert list(new.tags.values()) == ["Vip", "b"]
    assert new.values == values


def test_row_can_have_names_of_100_characters_and_100_tags() -> None:
    row = Row(first_name="é" * 100, last_name="a" * 100, tags=[f"{n:0100}" for n in range(100)])

    assert failure(row) is None


def test_rows_have_one_outcome_each_in_order() -> None:
    validated = validate_rows([Row("a@x.de"), Row(""), Row("b@x.de"), Row("ada")])

    assert [isinstance(row, RowError) for row in validated] == [False, True, False, True]


@pytest.mark.parametrize(
    ("is_confirmed", "status"), [(True, Status.CONFIRMED), (False, Status.UNCONFIRMED)]
)
def test_new_subscriber_is_confirmed_only_if_requested(is_confirmed: bool, status: Status) -> None:
    assert initial_status(is_confirmed=is_confirmed) is status


@pytest.mark.parametrize(
    ("text", "code"), [("", "REQUIRED"), (" \t", "REQUIRED"), ("ada", "INVALID_FORMAT")], ids=ascii
)
def test_check_email_raises_a_code_for_the_fault(text: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        check_email(text)
    assert [(detail.field, detail.code) for detail in caught.value.details] == [("email", code)]


def test_check_email_returns_the_address() -> None:
    assert check_email(" Ada@x.de").address == "Ada@x.de"


# When the status of a row can change to that of a column: always, by an admin, or never.
TRANSITIONS = """
              UNCONFIRMED  CONFIRMED  UNSUBSCRIBED  BOUNCED  COMPLAINED
UNCONFIRMED   always       always     always        always   always
CONFIRMED     never       always     always        always   always
UNSUBSCRIBED  always       always     always        never   always
BOUNCED       always       always     always        always   always
COMPLAINED    admin        admin      admin         admin    always
"""


def transitions() -> list[Any]:
    """Returns each pair of statuses, and when the transition is allowed."""
    head, *lines = TRANSITIONS.strip().splitlines()
    return [
        pytest.param(Status[before], Status[after], who, id=f"{before} to {after}")
        for before, *cells in map(str.split, lines)
        for after, who in zip(head.split(), cells, strict=True)
    ]


def test_table_contains_every_pair_of_statuses() -> None:
    assert len(transitions()) == len(Status) ** 2 == 25


@pytest.mark.parametrize("by_admin", [True, False], ids=["admin", "no admin"])
@pytest.mark.parametrize(("before", "after", "who"), transitions())
def test_transition_is_allowed_as_in_the_table(
    before: Status, after: Status, who: str, by_admin: bool
) -> None:
    if who == "always" or (who == "admin" and by_admin):
        check_transition(before, after, by_admin=by_admin)
        return
    with pytest.raises(InvalidStatusTransition) as caught:
        check_transition(before, after, by_admin=by_admin)
    (detail,) = caught.value.details
    assert detail.field == "status"
    assert f"from {before.name} to {after.name}" in detail.message


# From the least to the most strict. UNCONFIRMED and CONFIRMED are equally strict.
STRICTNESS = [{"UNCONFIRMED", "CONFIRMED"}, {"BOUNCED"}, {"UNSUBSCRIBED"}, {"COMPLAINED"}]


@pytest.mark.parametrize(("before", "after"), [*itertools.product(Status, repeat=2)])
def test_every_caller_can_make_a_status_stricter(before: Status, after: Status) -> None:
    level_before, level_after = (
        next(level for level, names in enumerate(STRICTNESS) if status.name in names)
        for status in (before, after)
    )

    assert is_stricter(after, before) == (level_after > level_before)
    if level_after > level_before:
        check_transition(before, after, by_admin=False, after_bounce=True)


@pytest.mark.parametrize("by_admin", [True, False], ids=["admin", "no admin"])
@pytest.mark.parametrize("after", [Status.UNCONFIRMED, Status.CONFIRMED])
def test_an_opt_out_after_a_bounce_is_not_reset(after: Status, by_admin: bool) -> None:
    with pytest.raises(InvalidStatusTransition):
        check_transition(Status.UNSUBSCRIBED, after, by_admin=by_admin, after_bounce=True)


def test_subscriber_has_at_most_100_tags() -> None:
    check_number_of_tags(MAX_TAGS)
    with pytest.raises(ValidationError) as caught:
        check_number_of_tags(MAX_TAGS + 1)
    assert [(d.field, d.code) for d in caught.value.details] == [("tags", "TOO_MANY")]


@pytest.mark.parametrize(
    ("first_name", "last_name", "keys"),
    [
        pytest.param("Ada", "Lovelace", ("ada lovelace", "lovelace"), id="both"),
        pytest.param("Ada", "", ("ada", None), id="first alone"),
        pytest.param("", "Lovelace", ("lovelace", None), id="last alone"),
        pytest.param("", "", (None, None), id="none"),
        pytest.param(" ", "\t\n", (None, None), id="whitespace"),
        pytest.param(" Ada ", " King Lovelace ", ("ada king lovelace", "king lovelace"), id="trim"),
        pytest.param("ÉMILE", "GROSS", ("émile gross", "gross"), id="upper case"),
        pytest.param("E\u0301mile", "Groß", ("émile gross", "gross"), id="NFD and sharp s"),
    ],
)
def test_search_keys_are_the_whole_name_and_the_last_name(
    first_name: str, last_name: str, keys: tuple[str | None, str | None]
) -> None:
    assert search_keys(first_name, last_name) == keys


@pytest.mark.parametrize(
    ("one", "other"),
    [("ADA", "ada"), (" ada\t", "ada"), ("Straße", "STRASSE"), ("É", "e\u0301"), ("Σ", "ς")],
    ids=ascii,
)
def test_search_ignores_case_normal_form_and_surrounding_whitespace(one: str, other: str) -> None:
    assert search_text(one) == search_text(other)


@pytest.mark.parametrize(("one", "other"), [("e", "é"), ("a b", "ab")], ids=ascii)
def test_search_distinguishes_accents_and_inner_spaces(one: str, other: str) -> None:
    assert search_text(one) != search_text(other)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_text_is_folded_like_other_text(text: str) -> None:
    assert search_text(text) == unicodedata.normalize("NFC", text.strip().casefold())


@given(st.text())
def test_search_text_is_idempotent(text: str) -> None:
    assert search_text(search_text(text)) == search_text(text)
