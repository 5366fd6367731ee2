"""The syntax and the checks of filter expressions."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query.conditions import conditions_of
from rosterd.server.features.subscribers.query.evaluation import matches
from rosterd.server.features.subscribers.query.syntax import (
    MAX_DEPTH,
    MAX_TERMS,
    Comparison,
    check_quotes,
    parse,
)
from rosterd.server.features.subscribers.query.tree import And, Not, Or
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.rpc.errors import ValidationError
from rosterd.server.values.emails import Email

from ..cases import each

NOW = 1_700_000_000_000
TYPES = {
    "plan": DataType.TEXT,
    "score": DataType.NUMBER,
    "active": DataType.BOOLEAN,
    "born": DataType.DATE,
}


def outline(tree: Any, *, values: bool = False) -> Any:
    """Returns a tree as nested lists of operators and fields, or values."""
    if isinstance(tree, Not):
        return ["NOT", outline(tree.condition, values=values)]
    if isinstance(tree, (And, Or)):
        parts = [outline(each, values=values) for each in tree.conditions]
        return [type(tree).__name__.upper(), *parts]
    assert isinstance(tree, Comparison)
    return f"{tree.field}{tree.operator}{tree.value}" if values else tree.field


@each(
    ("text", "expected"),
    [
        ("a=1", "a"),
        ("a=1 AND b=2 AND c=3", ["AND", "a", "b", "c"]),
        ("a=1 AND b=2 OR c=3", ["AND", "a", ["OR", "b", "c"]]),
        ("(a=1 AND b=2) OR c=3", ["OR", ["AND", "a", "b"], "c"]),
        ("a=1 b=2 OR c=3 d=4", ["AND", "a", ["OR", "b", "c"], "d"]),
        ("NOT a=1 OR -b=2", ["OR", ["NOT", "a"], ["NOT", "b"]]),
        ("NOT (a=1 AND NOT (b=2))", ["NOT", ["AND", "a", ["NOT", "b"]]]),
        ("-(NOT a=1)", "a"),
        ("\tANDY=1\nOR NOTE=2 ", ["OR", "ANDY", "NOTE"]),
    ],
)
def test_operators_have_the_precedence_of_aip_160(text: str, expected: Any) -> None:
    assert outline(parse(text)) == expected


@each(
    ("text", "expected"),
    [
        ("a=(1 OR 2)", ["OR", "a=1", "a=2"]),
        ("a=(1 OR 2) b=3", ["AND", ["OR", "a=1", "a=2"], "b=3"]),
        ('a:(1 "x y" AND NOT (2 OR 3))', ["AND", "a:1", "a:x y", ["NOT", ["OR", "a:2", "a:3"]]]),
        ("a!=(1 OR 2)", ["NOT", ["OR", "a=1", "a=2"]]),
        ("NOT a!=(1 OR -2)", ["OR", "a=1", "a=-2"]),
        ('a=(-"1" -(2))', ["AND", ["NOT", "a=1"], ["NOT", "a=2"]]),
        ("a>(1 OR f( 2 ))", ["OR", "a>1", "a>2"]),
    ],
)
def test_each_value_in_parentheses_is_compared(text: str, expected: Any) -> None:
    assert outline(parse(text), values=True) == expected


@each(
    ("text", "value", "is_prefix"),
    [
        ("a=b-c.d/e", "b-c.d/e", False),
        ("a = -3.5e2", "-3.5e2", False),
        ('a="x (y) \\"z\\" \\\\"', 'x (y) "z" \\', False),
        ("a='it\\'s \"so\"'", 'it\'s "so"', False),
        ('a=""', "", False),
        ("a=x*", "x", True),
        ('a="x y*"', "x y", True),
        ('a="x\\*"', "x*", False),
        ('a="x\\\\*"', "x\\", True),
        ('a="AND"', "AND", False),
    ],
)
def test_values_are_plain_or_quoted_and_can_end_with_an_asterisk(
    text: str, value: str, is_prefix: bool
) -> None:
    tree = parse(text)

    assert isinstance(tree, Comparison)
    assert (tree.value, tree.is_prefix) == (value, is_prefix)


def test_conditions_joined_by_and_do_not_equal_those_joined_by_or() -> None:
    texts = ["a=1 AND b=2", "a=1 OR  b=2"]

    assert parse(texts[0]) != parse(texts[1])


def error_of(text: str) -> tuple[str, str]:
    """Returns the code and the message of the error for a filter."""
    with pytest.raises(ValidationError) as caught:
        conditions_of(parse(text), TYPES, NOW)
    (detail,) = caught.value.details
    assert detail.field == "filter"
    return detail.code, detail.message


@each(
    ("text", "code", "message"),
    [
        ("email=*@x.de", "INVALID_FORMAT", "can contain * only at the end of a value"),
        ("age = 3", "UNKNOWN_FIELD", "names an unknown field: age (column 1)"),
        ("tags:x customFields.x=1", "UNKNOWN_FIELD", "unknown field: customFields.x (column 8)"),
        ("status=GONE", "INVALID_VALUE", "must compare status with one of UNCONFIRMED, CONF"),
        ("status=CONF*", "INVALID_VALUE", "must compare status with"),
        ("status>CONFIRMED", "INVALID_VALUE", "one of the operators = != : (column 1)"),
        (
            "tags=vip",
            "INVALID_VALUE",
            "the operator :, such as tags:vip or NOT tags:vip (column 1)",
        ),
        ("tag:vip", "UNKNOWN_FIELD", "unknown field: tag; did you mean tags? (column 1)"),
        ("customFields.scoer=1", "UNKNOWN_FIELD", "did you mean customFields.score? (column 1)"),
        ("customFields=x", "UNKNOWN_FIELD", "must name a custom field by its key"),
        ("firstName<a*", "INVALID_VALUE", "cannot compare firstName with a prefix (column 11)"),
        (
            "createdAt>soon",
            "INVALID_FORMAT",
            "with a date such as 2026-01-31, a timestamp in quotes, or daysAgo(30)",
        ),
        ("createdAt=2024*", "INVALID_VALUE", "cannot compare createdAt with a prefix"),
        ("customFields.score=ten", "INVALID_TYPE", "score with a number, or change"),
        ("customFields.score=1e999", "INVALID_TYPE", "with a number"),
        ("customFields.active=1", "INVALID_TYPE", "with true or false, or change its dataType"),
        (
            'customFields.score="ten"',
            "INVALID_TYPE",
            "with a number, or change its dataType to TEXT (column 20)",
        ),
        (
            "customFields.plan>=30",
            "INVALID_TYPE",
            "TEXT field, or change its dataType to NUMBER (",
        ),
        (
            "NOT customFields.plan=-1.5e3",
            "INVALID_TYPE",
            "change its dataType to NUMBER (column 23)",
        ),
        ("customFields.plan!=True", "INVALID_TYPE", "dataType to BOOLEAN (column 20)"),
        (
            "customFields.plan<2026-01-31",
            "INVALID_TYPE",
            "change its dataType to DATE (column 19)",
        ),
        ("firstName>5", "INVALID_TYPE", "must quote the value of a text field"),
        (
            "customFields.born>30",
            "INVALID_FORMAT",
            "with a date such as 2026-01-31, a timestamp in quotes, or daysAgo(30)",
        ),
        ("customFields.active>true", "INVALID_VALUE", "one of the operators = != :"),
        ('firstName:""', "INVALID_VALUE", 'must contain a text; firstName = "" compares with no'),
        ("status = (CONFIRMED OR GONE)", "INVALID_VALUE", "must compare status with one of"),
        ("tagCount > 1.5", "INVALID_TYPE", "must compare tagCount with a whole number (column 12)"),
        ("createdAt > now()", "INVALID_VALUE", "an unknown function: now; daysAgo(30) is known"),
        ("createdAt > daysAgo(x)", "INVALID_VALUE", "needs a whole number of days, at most 36525"),
        ("createdAt > daysAgo(36526)", "INVALID_VALUE", "such as daysAgo(30) (column 13)"),
        ("firstName = daysAgo(1)", "INVALID_TYPE", "cannot compare firstName with daysAgo, which"),
        ("tags:daysAgo(1)", "INVALID_TYPE", "cannot compare tags with daysAgo"),
        (
            "createdAt > customFields.score",
            "INVALID_TYPE",
            "with a field of its type, DATE, not NUMBER (column 13)",
        ),
        ("firstName = customFields.x", "UNKNOWN_FIELD", "unknown field: customFields.x (column 13"),
        ("customFields.active > customFields.active", "INVALID_VALUE", "of the operators = != :"),
    ],
)
def test_invalid_filter_is_rejected_with_its_column(text: str, code: str, message: str) -> None:
    actual, full_message = error_of(text)

    assert actual == code
    assert message in full_message
    assert "(column " in full_message


@each(
    ("text", "message"),
    [
        ("status", "needs an operator and a value after status (column 7)"),
        ("vip", "needs an operator and a value after vip (column 4)"),
        (f"{'x' * 41}", "needs an operator and a value after the field (column 42)"),
        ("status =", "needs a value after = (column 9)"),
        ("tags:a AND", "needs a comparison at the end, such as tags:vip (column 11)"),
        ("tags:a AND OR b=c", "needs a comparison before OR (column 12)"),
        ("()", "needs a comparison before ) (column 2)"),
        ("(status=CONFIRMED ", "needs a closing parenthesis (column 19)"),
        ("status=CONFIRMED )", "has a closing parenthesis that is not opened (column 18)"),
        ("email='ada", "has a quote that is not closed (column 7)"),
        (
            '"ada"',
            'has an unexpected "; a comparison is a field, an operator and a value (column 1)',
        ),
        ("tags:a and tags:b", "operators are upper case: AND (column 8)"),
        ("(tags:a) or (tags:b)", "operators are upper case: OR (column 10)"),
        ("Not tags:a", "operators are upper case: NOT (column 1)"),
        ("status == CONFIRMED", "= is the operator for equality (column 9)"),
        ("status <> CONFIRMED", "!= is the operator for inequality (column 9)"),
        ("createdAt => 2026-01-01", ">= is the operator for greater than or equal (column 12)"),
        ("tags:a && tags:b", "&& is not an operator; use AND (column 8)"),
        ("tags:a || tags:b", "|| is not an operator; use OR (column 8)"),
        ("!tags:a", "! is not an operator; use NOT (column 1)"),
        ("tags:a,b", ", is not an operator; use AND or OR, or quote a value that contains it"),
        ("email LIKE 'ada%'", 'LIKE is not an operator here; use name:"ada" for a part'),
        ("status in (BOUNCED)", "IN is not an operator here; use parentheses, such as status = ("),
        ("status NOT IN (BOUNCED)", "NOT is not an operator here; write it before the comparison"),
        ("tags:()", "needs a value before ) (column 7)"),
        ("tags:(a OR", "needs a value at the end, such as status = (BOUNCED OR COMPLAINED)"),
        ("tags:(a", "needs a closing parenthesis (column 8)"),
        ("tags:(a or b)", "operators are upper case: OR (column 9)"),
        ("tags:(a, b)", ", is not an operator; use AND or OR, or quote a value that contains it"),
        ("tags:(tags:a)", "has an unexpected :; quote a value with spaces or punctuation (column"),
        ("firstName IS NULL", "IS is not an operator here; FIELD:* is true if the field has a"),
        ("createdAt between 1", "BETWEEN is not an operator here; use two comparisons, such as"),
        ("createdAt > 2026-01-01T00:00:00Z", "has an unexpected :; quote a value with spaces or"),
        ("createdAt > 2026-01-01 12:00", "has an unexpected 12; quote a value with spaces or"),
        ("lastName = van Rossum", "after Rossum; quote a value with spaces or punctuation (column"),
    ],
)
def test_error_of_a_filter_says_what_to_write(text: str, message: str) -> None:
    code, full_message = error_of(text)

    assert code == "INVALID_FORMAT"
    assert message in full_message


def test_typographic_quote_at_the_start_of_a_value_is_an_error_in_a_new_filter_only() -> None:
    with pytest.raises(ValidationError) as caught:
        check_quotes("NOT tags:“unsubscribed”")

    (detail,) = caught.value.details
    assert detail.message == "has a typographic quote; use a straight one (column 10)"
    check_quotes('lastName = O’Brien AND tags:"“vip"')
    assert outline(parse("tags:“vip”"), values=True) == "tags:“vip”"


@each(
    "text",
    (
        'customFields.plan >= "30"',
        "customFields.plan = 30*",
        "customFields.plan = v30",
        'customFields.plan = "true"',
        'customFields.plan < "2026-01-31"',
        'customFields.score > "30"',
        "firstName = 30",
        "tags:2026 AND email.domain = 163.com",
        "customFields.plan = email",
    ),
)
def test_literal_of_the_type_of_the_field_is_accepted(text: str) -> None:
    assert conditions_of(parse(text), TYPES, NOW)


def test_filter_has_at_most_fifty_comparisons() -> None:
    comparisons = ["tags:a"] * MAX_TERMS

    assert isinstance(parse(" OR ".join(comparisons)), Or)
    assert isinstance(parse(f"tags:({'a ' * MAX_TERMS})"), And)
    code, message = error_of(f"tags:({'a ' * MAX_TERMS}b)")
    assert (code, message) == ("TOO_MANY", "must have at most 50 comparisons (column 107)")
    code, message = error_of(" ".join([*comparisons, "tags:b"]))
    assert (code, message) == ("TOO_MANY", "must have at most 50 comparisons (column 351)")


def test_parentheses_have_at_most_32_levels() -> None:
    assert outline(parse(f"{'(' * MAX_DEPTH}a=1{')' * MAX_DEPTH}")) == "a"
    # The depth of parentheses that are closed again, and of those in strings, does not count.
    assert outline(parse(f"{'(a=1)' * 40} b='{'(' * 40}'"))[0] == "AND"
    assert outline(parse(f"a={'(' * MAX_DEPTH}1{')' * MAX_DEPTH}")) == "a"
    too_deep = "(" * (MAX_DEPTH + 1)
    for text in (f"a={too_deep}", "(" * 1_990 + "a=1" + ")" * 1_990, "NOT (" * 800, too_deep):
        code, message = error_of(text)
        column = [at for at, character in enumerate(text, 1) if character == "("][MAX_DEPTH]
        assert code == "TOO_MANY"
        assert message == f"must have at most 32 levels of parentheses (column {column})"


@each(
    ("text", "expected"),
    [
        ('email = "ada@bü*"', True),
        ('email = "ada@xn--b*"', True),
        ('email = "ada@be*"', False),
        # Values of the wrong type: the row will be rejected.
        ("customFields.plan:*", False),
        ("customFields.score > 0", False),
        ("customFields.active = true", False),
        ("customFields.born < 2100-01-01", False),
        # The time of the last update is not known yet.
        ("updatedAt < 2100-01-01", False),
        ("updatedAt != 2100-01-01", True),
    ],
)
def test_a_row_of_an_import_is_compared_as_a_subscriber(text: str, expected: bool) -> None:
    values = {"plan": 1.0, "score": True, "active": "true", "born": 1.0}
    email, names = (
        Email("ada@bücher.io", "ada@xn--bcher-kva.io"),
        {"first_name": "", "last_name": ""},
    )
    new = NewSubscriber(email, names, Status.CONFIRMED, {}, values)

    assert matches(conditions_of(parse(text), TYPES, NOW), new, 0) is expected
