"""What a subscriber may be, singly and as a row of a bulk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from server.errors import ValidationError
from server.subscribers.rules import (
    Failure,
    Status,
    check_email,
    initial_status,
    judge,
)


@dataclass(frozen=True)
class Fault:
    field: str


@dataclass(frozen=True)
class Row:
    """A row that keeps every rule unless it is told otherwise."""

    email: str = "ada@example.com"
    first_name: str = ""
    last_name: str = ""
    is_confirmed: bool = False
    tags: Sequence[str] = ()
    faults: Sequence[Fault] = ()


WHOLE, FIELD = Fault(""), Fault("firstName")


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
        pytest.param(Row(tags=["a\0"]), Failure.INVALID_TAG, id="NUL in a tag"),
        pytest.param(Row(tags=list(map(str, range(101)))), Failure.INVALID_TAG, id="101 tags"),
        pytest.param(Row(email="", faults=[WHOLE]), Failure.INVALID_ROW, id="no object"),
    ],
)
def test_row_that_breaks_a_rule_fails_with_its_reason(row: Row, reason: Failure) -> None:
    assert judge([row]).failed == {0: reason}
    assert judge([row]).good == {}


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
def test_row_that_breaks_several_rules_fails_with_the_first(row: Row, reason: Failure) -> None:
    assert judge([row]).failed == {0: reason}


@pytest.mark.parametrize(
    "later",
    ["ada@example.com", "ADA@Example.COM", " ada@example.com ", "ada@ｅxample.com"],
    ids=["same", "other case", "blanks", "full width"],
)
def test_later_row_with_the_same_address_is_a_duplicate(later: str) -> None:
    judged = judge([Row(first_name="first"), Row(later), Row("eve@example.com"), Row(later)])

    assert judged.failed == dict.fromkeys([1, 3], Failure.DUPLICATE_IN_REQUEST)
    assert judged.good[0].first_name == "first"
    assert set(judged.good) == {0, 2}


def test_later_row_is_a_duplicate_of_one_that_could_not_be_taken() -> None:
    judged = judge([Row(tags=[""]), Row()])

    assert judged.failed == {0: Failure.INVALID_TAG, 1: Failure.DUPLICATE_IN_REQUEST}


def test_duplicate_that_breaks_a_rule_itself_is_told_that_rule() -> None:
    assert judge([Row(), Row(tags=[""])]).failed == {1: Failure.INVALID_TAG}


@pytest.mark.parametrize("email", ["", "ada"])
def test_rows_without_an_address_are_not_duplicates_of_each_other(email: str) -> None:
    assert Failure.DUPLICATE_IN_REQUEST not in judge([Row(email), Row(email)]).failed.values()


def test_good_row_is_kept_word_for_word() -> None:
    row = Row(" Ada@X.de ", " <b>Ada</b>", "=cmd()", is_confirmed=True, tags=[" Vip", "VIP", "b "])

    new = judge([row]).good[0]

    assert (new.email.given, new.email.key) == ("Ada@X.de", "ada@x.de")
    assert (new.first_name, new.last_name) == (" <b>Ada</b>", "=cmd()")
    assert new.status is Status.CONFIRMED
    assert list(new.tags.values()) == ["Vip", "b"]


def test_row_takes_names_of_100_characters_and_100_tags() -> None:
    row = Row(first_name="é" * 100, last_name="a" * 100, tags=[f"{n:0100}" for n in range(100)])

    assert judge([row]).failed == {}


def test_each_row_gets_one_outcome_in_order() -> None:
    judged = judge([Row("a@x.de"), Row(""), Row("b@x.de"), Row("ada")])

    assert list(judged.good) == [0, 2]
    assert list(judged.failed) == [1, 3]


@pytest.mark.parametrize(
    ("is_confirmed", "status"), [(True, Status.CONFIRMED), (False, Status.UNCONFIRMED)]
)
def test_new_subscriber_is_confirmed_only_where_it_says_so(
    is_confirmed: bool, status: Status
) -> None:
    assert initial_status(is_confirmed=is_confirmed) is status


@pytest.mark.parametrize(
    ("text", "code"), [("", "REQUIRED"), (" \t", "REQUIRED"), ("ada", "INVALID_FORMAT")], ids=ascii
)
def test_check_email_names_the_fault(text: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        check_email(text)
    assert [(detail.field, detail.code) for detail in caught.value.details] == [("email", code)]


def test_check_email_returns_the_address() -> None:
    assert check_email(" Ada@x.de").given == "Ada@x.de"
