"""Validation of subscribers and rows, status transitions and search keys."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import (
    Failure,
    Row,
    RowError,
    check_transition,
    is_stricter,
    search_keys,
    search_text,
    validate_rows,
)

from ..cases import each


def row(email: str = "ada@example.com", names: tuple[str, str] = ("", ""), **more: Any) -> Row:
    """Returns a row that is valid by default."""
    return Row(email, dict(zip(("first_name", "last_name"), names, strict=True)), **more)


def failure(given: Row) -> Failure | None:
    """Returns the error of a row, or None if it is valid."""
    (validated,) = validate_rows([given])
    return validated.failure if isinstance(validated, RowError) else None


LONG = ("", "a" * 101)


@each(
    ("given", "reason"),
    [
        (row(custom_fields=None), Failure.INVALID_FIELD),
        (row("", LONG, faults=["firstName", ""]), Failure.INVALID_ROW),
        (row("", LONG, faults=["firstName"]), Failure.INVALID_FIELD),
        (row("ada", LONG, tags=[""]), Failure.INVALID_EMAIL),
        (row(names=LONG, tags=[""]), Failure.INVALID_FIELD),
        (row(tags=[""], custom_fields=None), Failure.INVALID_TAG),
    ],
)
def test_invalid_row_fails_with_its_first_error(given: Row, reason: Failure) -> None:
    assert failure(given) is reason


# From the least to the most strict. UNCONFIRMED and CONFIRMED are equally strict.
STRICTNESS = [{"UNCONFIRMED", "CONFIRMED"}, {"BOUNCED"}, {"UNSUBSCRIBED"}, {"COMPLAINED"}]


@each(("before", "after"), [*itertools.product(Status, repeat=2)])
def test_every_caller_can_make_a_status_stricter(before: Status, after: Status) -> None:
    level_before, level_after = (
        next(level for level, names in enumerate(STRICTNESS) if status.name in names)
        for status in (before, after)
    )

    assert is_stricter(after, before) == (level_after > level_before)
    if level_after > level_before:
        check_transition(before, after, by_admin=False, after_bounce=True)


@pytest.mark.parametrize(
    ("first_name", "last_name", "keys"),
    [
        pytest.param("Ada", "Lovelace", ("ada lovelace", "lovelace"), id="both"),
        pytest.param("Ada", "", ("ada", None), id="first alone"),
        pytest.param("", "Lovelace", ("lovelace", "lovelace"), id="last alone"),
        pytest.param(" ", "\t\n", (None, None), id="whitespace"),
        pytest.param(" Ada ", " King Lovelace ", ("ada king lovelace", "king lovelace"), id="trim"),
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
