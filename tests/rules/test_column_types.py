"""The data types that are proposed for the columns of an imported file."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.custom_fields.rules import DataType, check_values
from rosterd.server.features.imports.cells import value_parser
from rosterd.server.features.imports.column_types import ColumnTypes, ProposedType
from rosterd.server.features.imports.csv_row import CsvRow
from rosterd.server.values.file_dates import DateFormat

from ..cases import each

TEXT, NUMBER, BOOLEAN, DATE = DataType
MDY, DMY, YMD = DateFormat


def proposed(
    cells: Iterable[str], name: str = "", date_format: DateFormat | None = None
) -> ProposedType:
    types = ColumnTypes(name, frozenset(("null",)))
    for cell in cells:
        types.add(cell)
    return types.proposal(date_format)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", " 2.50", "-3", "0", "", "NULL"], NUMBER),
        (["48.85661400000001", "2.3522219"], NUMBER),
        (["1", "0", "1"], NUMBER),
        (["007", "8"], TEXT),
        (["+4915112345678"], TEXT),
        (["5551234567"], TEXT),
        (["12345678901234567890"], TEXT),
        (["0.12345678901234567"], TEXT),
        (["1e5"], TEXT),
        (["1,234"], TEXT),
        (["NaN"], TEXT),
        (["٣"], TEXT),
        (["yes", "No", "1"], BOOLEAN),
        (["true", "false"], BOOLEAN),
        (["yes", "perhaps"], TEXT),
        (["2026-01-31", "2026-01-31T10:00:00+02:00", "2026/2/1"], DATE),
        (["Mar 4, 2021 2:02 PM", "0000-00-00"], DATE),
        (["0000-00-00"], TEXT),
        (["2026-02-30"], TEXT),
        (["1443651125", "1443651126"], TEXT),
        (["1443651125.5"], TEXT),
        (["", "  ", "null"], TEXT),
        ([], TEXT),
    ],
    ids=str,
)
def test_type_is_proposed_if_every_cell_has_it(cells: list[str], expected: DataType) -> None:
    found = proposed(cells)

    assert found.data_type == expected
    assert found.date_formats == ()
    assert found.values == sum(cell.strip().lower() not in ("", "null") for cell in cells)


@each("name", ["Phone", "ZIP code", "customer_id", "mobilePhone", "PLZ"])
def test_numbers_are_texts_by_the_name_of_their_column(name: str) -> None:
    assert proposed(["90210", "10001"], name).data_type == TEXT
    assert proposed(["90210", "10001"], "Paid orders").data_type == NUMBER


def test_order_of_day_and_month_follows_from_the_whole_column_or_is_asked_for() -> None:
    ambiguous = ["01/02/2026", "03/04/2026"]

    assert proposed(ambiguous) == (TEXT, 2, (MDY, DMY), DATE, ())
    assert proposed([*ambiguous, "31/12/2026"]) == (DATE, 3, (DMY,), None, ())
    assert proposed([*ambiguous, "12/31/2026"]) == (DATE, 3, (MDY,), None, ())
    assert proposed(ambiguous, date_format=DMY) == (DATE, 2, (DMY,), None, ())
    assert proposed(["31/12/2026", "12/31/2026"]).data_type == TEXT
    assert proposed(["12/31/2026"], date_format=DMY).data_type == TEXT


def test_counterexamples_of_the_type_of_most_cells_are_returned() -> None:
    cells = [str(number) for number in range(1000)]
    cells[500:500] = ["n/a", "unknown", "n/a", "12 pcs", "x" * 200, "?"]

    found = proposed(cells)

    assert found == (TEXT, 1006, (), NUMBER, ("n/a", "unknown", "12 pcs"))


def test_last_cell_of_a_long_column_changes_the_proposal() -> None:
    types = ColumnTypes()
    for number in range(10_000):
        types.add(str(number))
    assert types.proposal().data_type == NUMBER

    types.add("0042")

    assert types.proposal() == (TEXT, 10_001, (), NUMBER, ("0042",))


cells = st.one_of(
    st.sampled_from(["yes", "no", "TRUE", "0", "1", "007", "-0", "1e5", "null", "", " "]),
    st.sampled_from(["2026-01-31", "1/2/26", "31/12/2026", "12/31/2026", "4 Mar 2021", "1.2.2020"]),
    st.from_regex(r"[+-]?\d{0,20}\.?\d{0,20}", fullmatch=True),
    st.from_regex(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}( \d\d:\d\d)?", fullmatch=True),
    st.text(max_size=5),
)


@given(st.lists(cells, max_size=3), st.none() | st.sampled_from(DateFormat))
def test_every_cell_is_stored_exactly_with_the_proposed_type(
    column: list[str], date_format: DateFormat | None
) -> None:
    found = proposed(column, date_format=date_format)
    if found.data_type == TEXT:
        return

    order = found.date_formats[0] if found.date_formats else date_format
    parse = value_parser("f", found.data_type, order)
    for cell in column:
        if cell.strip().lower() in ("", "null"):
            continue
        row = CsvRow()
        parse(row, cell)
        assert check_values(row.custom_fields, {"f": found.data_type}) == []
        if found.data_type == NUMBER:
            assert Decimal(cell.strip()) == Decimal(repr(row.custom_fields["f"]))
