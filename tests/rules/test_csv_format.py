"""CSV columns: names, parsing, and the round trip of written cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.custom_fields.store import ColumnField
from rosterd.server.features.imports.csv_row import CsvRow
from rosterd.server.features.imports.header import Header
from rosterd.server.features.subscribers.csv_format import header_cells, row_cells, tags_cell
from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.values.emails import parse_email
from rosterd.server.values.texts import caseless_key

from ..cases import each


def column_field(key: str, label: str = "", data_type: DataType = DataType.TEXT) -> ColumnField:
    return ColumnField(key, caseless_key(label or key), data_type)


def parsed(header: Header, cells: list[str]) -> CsvRow:
    """Returns the row of a line, which is filled up with empty cells."""
    line = [*cells, *[""] * (len(header.cells) - len(cells))]
    return header.row(1, line)


def names_of(row: CsvRow) -> tuple[str, str]:
    return row.profile["first_name"], row.profile["last_name"]


def parse(column: str, cell: str, *fields: ColumnField) -> CsvRow:
    """Parses a line with an address and one other cell."""
    return parsed(Header(["email", column], fields), ["ada@example.com", cell])


@each(
    "name", ["customFields.shoe_size", "shoe_size", "Größe der Schuhe", "GRO\u0308SSE_DER_SCHUHE"]
)
def test_custom_field_columns_match_by_key_and_label(name: str) -> None:
    row = parse(name, "44", column_field("shoe_size", "Größe der Schuhe"))

    assert row.custom_fields == {"shoe_size": "44"}


def test_key_precedes_the_label_of_an_older_field() -> None:
    row = parse("city", "Ulm", column_field("town", "City"), column_field("city", "Town"))

    assert row.custom_fields == {"city": "Ulm"}


@each("name", ["first_name", "Is Confirmed", "is_confirmed", "name", "Tags"])
def test_built_in_columns_precede_custom_fields_with_similar_names(name: str) -> None:
    field = column_field(name.lower().replace(" ", "_"), name)

    assert parse(name, "no", field).custom_fields == {}
    assert parse(f"customFields.{field.key}", "no", field).custom_fields == {field.key: "no"}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"firstName": "Ann"}, ("Ann", "Lee")),
        ({"lastName": "Lee"}, ("Ann", "Lee")),
        ({"firstName": "Bob"}, ("Bob", "Ann Lee")),
        ({"lastName": "Marie Ann Lee"}, ("Ann Lee", "Marie Ann Lee")),
        ({"firstName": "Ann", "lastName": "Lee"}, ("Ann", "Lee")),
        ({"firstName": " ", "lastName": ""}, ("Ann", "Lee")),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_first", [True, False], ids=["name first", "name last"])
def test_full_name_fills_the_missing_name_without_losing_a_word(
    given: dict[str, str], names: tuple[str, str], *, is_first: bool
) -> None:
    cells = {"name": "Ann Lee", **given} if is_first else {**given, "name": "Ann Lee"}

    row = parsed(Header(["email", *cells], []), ["a@b.io", *cells.values()])

    assert (names_of(row), row.faults) == (names, [])


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        (" ; vip, press ;;|news,", ["vip", "press", "news"]),
        ('["vip", "a,b;c|d", "[x]"]', ["vip", "a,b;c|d", "[x]"]),
        ("[vip]", ["[vip]"]),
        ('["vip", 1]', ['["vip"', "1]"]),
        (r'["\ud83d"]', [r'["\ud83d"]']),
        ("[" * 5_000, ["[" * 5_000]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_tags_are_separated_or_a_json_array(cell: str, tags: list[str]) -> None:
    assert [*parse("tags", cell).tags] == tags


@each(
    ("data_type", "cell", "value"),
    [
        (DataType.TEXT, " 42 ", " 42 "),
        (DataType.NUMBER, " 42 ", 42.0),
        (DataType.NUMBER, "+.5", 0.5),
        (DataType.NUMBER, "1,5", "1,5"),
        (DataType.NUMBER, "1_000", "1_000"),
        (DataType.NUMBER, "nan", "nan"),
        (DataType.NUMBER, "１２", "１２"),
        (DataType.NUMBER, "1e99999", "1e99999"),
        (DataType.BOOLEAN, "maybe", "maybe"),
        (DataType.DATE, " 2026-01-31 ", "2026-01-31"),
        (DataType.DATE, "31.1.2026", "31.1.2026"),
    ],
)
def test_value_is_parsed_by_the_type_of_its_field(
    data_type: DataType, cell: str, value: float | str
) -> None:
    read_value = parse("x", cell, column_field("x", data_type=data_type)).custom_fields["x"]

    assert (type(read_value), read_value) == (type(value), value)


def test_written_header_is_parsed_for_every_key() -> None:
    fields = [column_field(key) for key in ("shoe_size", "shoesize", "name", "is_confirmed", "f_1")]
    keys = [field.key for field in fields]

    row = parsed(Header(header_cells(keys), fields), ["", "a@b.io", "", "", "", "", "", *keys])

    assert row == CsvRow("a@b.io", custom_fields=dict(zip(keys, keys, strict=True)), line=1)


def cells_of(
    values: Mapping[str, Any], *, escapes_formulas: bool = True, **fields: str
) -> dict[str, str]:
    """Returns the cells of a subscriber by column, those of custom fields by key."""
    empty = dict.fromkeys(SubscriberRow._fields, "")
    other = {"status": Status.CONFIRMED, "tags": (), "created_at": 0, "values": values}
    row = SubscriberRow(**{**empty, **other, **fields})
    written = row_cells(row, list(values), escapes_formulas=escapes_formulas)
    cells = dict(zip(header_cells(values), written, strict=True))
    return {name.removeprefix("customFields."): cell for name, cell in cells.items()}


@each(
    ("names", "cell"),
    [
        ([], ""),
        (["news", "vip"], "news,vip"),
        (["größe,", "vip"], '["größe,", "vip"]'),
        (["a;b"], '["a;b"]'),
        (["[x]"], '["[x]"]'),
    ],
)
def test_ambiguous_tags_are_written_as_json(names: list[str], cell: str) -> None:
    assert tags_cell(names) == cell


@each(
    ("value", "cell"),
    [
        (None, ""),
        ("", "'"),
        ("'", "''"),
        ("=1+1", "'=1+1"),
        ("text", "text"),
        (True, "true"),
        (42.0, "42"),
        (-1.5, "-1.5"),
        (1e300, "1e+300"),
    ],
)
def test_values_are_written_as_json_and_texts_verbatim(value: Any, cell: str) -> None:
    cells = cells_of({"x": value, "y": None})

    assert (cells["x"], cells["y"]) == (cell, "")


# Separators, quotes, escaped characters, and any others.
TEXTS = st.text(
    st.sampled_from(" \t\r\n\u00a0\u2028\ufeff'\"=+-@0.,;|[]{}<>\\ab\u00e9")
    | st.characters(codec="utf-8"),
    max_size=12,
)


@given(TEXTS, TEXTS, TEXTS, st.booleans())
@example('="007"', "", "", False)
def test_written_text_is_parsed_to_the_same_value(
    first: str, last: str, note: str, escapes_formulas: bool
) -> None:
    header = Header(["email", "firstName", "lastName", "note"], [column_field("note")])
    cells = cells_of(
        {"note": note}, first_name=first, last_name=last, escapes_formulas=escapes_formulas
    )

    row = parsed(header, ["a@b.io", cells["firstName"], cells["lastName"], cells["note"]])

    assert names_of(row) == (first, last)
    assert row.custom_fields == {"note": note}


@given(st.text("=+-'_a1@", min_size=1, max_size=6), st.booleans())
@example("=ada", True)
@example("'+x", False)
def test_written_address_is_parsed_to_itself_and_is_no_other_address(
    local: str, escapes_formulas: bool
) -> None:
    address = f"{local}@example.com"
    assume(parse_email(address) is not None)

    cell = cells_of({}, email=address, escapes_formulas=escapes_formulas)["email"]
    row = parsed(Header(["email"], []), [cell])

    assert (row.email, names_of(row)) == (address, ("", ""))
    assert cell in (address, f"<{address}>")
    assert not (escapes_formulas and cell[0] in "=+-@")


@each(
    ("text", "cell"),
    [
        *(("=1+1", "=1+1"), (" @x", " @x"), ("'=1", "''=1"), ("'", "''"), ("", "'"), (" ", "' ")),
        ('="a"', '\'="a"'),
    ],
)
def test_only_what_an_import_would_change_is_escaped_without_protection_from_formulas(
    text: str, cell: str
) -> None:
    assert cells_of({"x": text}, escapes_formulas=False)["x"] == cell


@given(st.floats(allow_nan=False, allow_infinity=False) | st.booleans())
def test_written_value_is_parsed_to_the_same_value(value: float | bool) -> None:
    data_type = DataType.BOOLEAN if isinstance(value, bool) else DataType.NUMBER

    row = parse("x", cells_of({"x": value})["x"], column_field("x", data_type=data_type))

    assert row.custom_fields == {"x": value}


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        pytest.param("email", " " * 100_000 + "x", id="spaces in an address"),
        pytest.param("age", "1" * 100_000 + "x", id="digits in a number"),
        pytest.param("tags", ",;|" * 30_000, id="separators of tags"),
    ],
)
def test_hostile_cell_is_parsed_in_linear_time(column: str, cell: str) -> None:
    fields = [ColumnField("age", "age", DataType.NUMBER)]
    header = Header([column, *(["email"] if column != "email" else [])], fields)

    assert parsed(header, [cell]).faults == []
