"""Values of custom fields whose data type is changed: the check, and what filters compare."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from peewee import SQL

from rosterd.server.features.custom_fields import conversion, store_conversion
from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.conversion import CheckAgain, Checked, check
from rosterd.server.features.custom_fields.models import CustomValue
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.custom_fields.store_conversion import compared_value
from rosterd.server.features.custom_fields.value_conversion import converted
from rosterd.server.features.subscribers import store_revisions
from rosterd.server.features.subscribers.models import Subscriber
from rosterd.server.features.subscribers.store_attached import merge_values
from rosterd.server.features.subscribers.store_changes import set_values_of_each
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.rpc.errors import ValuesNotConvertible
from rosterd.server.storage.database import Database
from rosterd.server.storage.statements import Statement, param
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.texts import has_control_characters

from .helpers import OURS, SUBSCRIBERS, THEIRS, field, new

TEXT, NUMBER, BOOLEAN, DATE = DataType


class OneTransaction:
    """A database all of whose units of work run in one transaction; `before` runs before each."""

    def __init__(self, tx: Transaction, before: Callable[[int], None] = lambda _: None) -> None:
        self._tx, self._before, self.reads = tx, before, 0

    async def read(self, work: Callable[[Transaction], Any]) -> Any:
        self._before(self.reads)
        self.reads += 1
        return work(self._tx)


def checked(
    field_id: str,
    tx: Transaction,
    before: Callable[[int], None] = lambda _: None,
    data_type: DataType = NUMBER,
) -> Checked:
    database = cast(Database, OneTransaction(tx, before))
    return asyncio.run(check(OURS, field_id, data_type, store_revisions, database))


def confirmed(found: Checked, field_id: str, tx: Transaction) -> None:
    found.confirm(custom_fields.find(OURS, field_id, tx), store_revisions, tx)


@pytest.fixture
def field_id(tx: Transaction, monkeypatch: pytest.MonkeyPatch) -> str:
    """A TEXT field with the values 0 to 6, checked in chunks of 3."""
    monkeypatch.setattr(store_conversion, "CHUNK", 3)
    monkeypatch.setattr(conversion, "CHUNK", 3)
    ours = field(OURS, tx)
    field(THEIRS, tx)
    SUBSCRIBERS.create(THEIRS, new("other", values={"city": "Rome"}), tx)
    for number in range(7):
        add(str(number), tx)
    return ours


def add(value: str, tx: Transaction) -> str:
    return SUBSCRIBERS.create(OURS, new(f"p{tx.new_id()}", values={"city": value}), tx).id


def test_values_of_all_chunks_are_checked(field_id: str, tx: Transaction) -> None:
    confirmed(checked(field_id, tx), field_id, tx)
    add("x", tx)
    add("x" * 100, tx)
    add("7", tx)

    with pytest.raises(ValuesNotConvertible) as raised:
        checked(field_id, tx)

    assert raised.value.metadata == {"count": "2", "dataType": "NUMBER"}


@pytest.mark.parametrize("read", range(5))
def test_value_stored_during_the_check_is_checked(
    field_id: str, tx: Transaction, read: int
) -> None:
    def store_value(number: int) -> None:
        if number == read:
            add("x", tx)

    with pytest.raises(ValuesNotConvertible):
        confirmed(checked(field_id, tx, store_value), field_id, tx)


def test_change_after_the_check_is_checked_in_the_transaction_of_the_switch(
    field_id: str, tx: Transaction
) -> None:
    found = checked(field_id, tx)
    first = add("7", tx)
    confirmed(found, field_id, tx)

    row = find(OURS, first, tx)
    set_values_of_each(OURS, [row], {"city": "x"}, tx)

    with pytest.raises(ValuesNotConvertible):
        confirmed(found, field_id, tx)
    for number in range(3):
        add(str(number), tx)
    with pytest.raises(CheckAgain):
        confirmed(found, field_id, tx)


def test_check_is_repeated_if_another_change_of_the_type_came_first(
    field_id: str, tx: Transaction
) -> None:
    found = checked(field_id, tx)
    custom_fields.update(OURS, field_id, {"data_type": NUMBER}, tx)

    with pytest.raises(CheckAgain):
        confirmed(found, field_id, tx)


def test_field_without_values_or_with_texts_only_keeps_a_plain_type(tx: Transaction) -> None:
    field_id = field(OURS, tx)
    assert custom_fields.update(OURS, field_id, {"data_type": NUMBER}, tx).data_type == NUMBER
    custom_fields.update(OURS, field_id, {"data_type": TEXT}, tx)
    add("2026-01-31", tx)

    assert custom_fields.update(OURS, field_id, {"data_type": DATE}, tx).data_type == DATE
    custom_fields.update(OURS, field_id, {"data_type": TEXT}, tx)
    assert custom_fields.update(OURS, field_id, {"data_type": BOOLEAN}, tx).data_type == 16 + 3


def test_dates_of_early_versions_get_the_number_that_filters_compare(tx: Transaction) -> None:
    field_id = field(OURS, tx)
    add("2026-01-31", tx)
    add("2026-01-30", tx)
    tx.run(_WITHOUT_NUMBERS, account_id=OURS)

    confirmed(checked(field_id, tx, data_type=DATE), field_id, tx)

    numbers = [number for (number,) in tx.all(_NUMBERS, account_id=OURS)]
    assert sorted(numbers) == [1769731200000, 1769817600000]


_NUMBERS = Statement(
    lambda _: CustomValue.select(CustomValue.number_key).where(
        CustomValue.account_id == param("account_id")
    )
)
_WITHOUT_NUMBERS = Statement(
    lambda _: CustomValue.update({CustomValue.number_key: SQL("NULL")}).where(
        CustomValue.account_id == param("account_id")
    )
)
_IDS = Statement(
    lambda _: Subscriber.select(Subscriber.id).where(Subscriber.account_id == param("account_id"))
)
_COMPARED = {
    data_type: Statement(
        lambda dialect, data_type=data_type: CustomValue.select(
            compared_value(CustomValue, data_type, dialect)
        ).where(CustomValue.account_id == param("account_id"))
    )
    for data_type in (TEXT, NUMBER, BOOLEAN)
}
numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = (
    numbers.map(repr)
    | st.integers().map(str)
    | st.from_regex(r"-?\d{1,20}\.\d{1,20}", fullmatch=True)
)


@given(st.booleans() | numbers | st.integers(-(2**53), 2**53) | texts | st.text(max_size=70))
@example("4.50")
@example("0.30000000000000004")
@example("1e99")
@example("1e999")
@example("true")
@example(True)
@example(-0.0)
@example(1e16)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_filters_compare_the_value_that_is_returned(tx: Transaction, value: Any) -> None:
    if isinstance(value, str) and has_control_characters(value, multiline=True):
        return
    fields = custom_fields.types(OURS, tx)
    if not fields:
        field(OURS, tx)
        add("", tx)
    ((subscriber_id,),) = tx.all(_IDS, account_id=OURS)
    merge_values(OURS, [subscriber_id], {"city": value}, tx)

    for data_type, statement in _COMPARED.items():
        expected = converted(value, data_type)
        if expected is not None:
            (compared,) = tx.one(statement, account_id=OURS)
            assert compared == expected
