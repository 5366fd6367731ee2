"""The values of a custom field are counted up to a limit, in the order of an index."""

from __future__ import annotations

import pytest

from rosterd.server.features.custom_fields import store_values
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.custom_fields.store_values import FrequentValues, frequent_values
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, SUBSCRIBERS, field, new
from .recording import RecordingTransaction


def suggested(prefix: str, tx: Transaction) -> FrequentValues:
    return frequent_values(OURS, "city", DataType.TEXT, prefix, tx)


def test_only_the_newest_values_are_compared_and_counted(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    field(OURS, tx)
    for n, city in enumerate(("Rome", "Bern", "Bern", "Oslo", "Bern")):
        SUBSCRIBERS.create(OURS, new(f"p{n}", values={"city": city}), tx)

    assert suggested("b", tx) == FrequentValues([("Bern", 3)], is_exact=True)
    monkeypatch.setattr(store_values, "MAX_COUNTED", 3)
    assert suggested("b", tx) == FrequentValues([("Bern", 3)], is_exact=True)
    assert not suggested("", tx).is_exact
    monkeypatch.setattr(store_values, "MAX_COUNTED", 2)
    assert not suggested("b", tx).is_exact
    monkeypatch.setattr(store_values, "MAX_SCANNED", 4)
    assert suggested("r", tx) == FrequentValues([], is_exact=False)


def test_a_prefix_ignores_the_case_of_all_letters_and_has_no_wildcards(tx: Transaction) -> None:
    field(OURS, tx)
    for n, city in enumerate(
        ("Österreich", "österreich", "Brno", "100%_", "100% b", "a[b]*", "Σς")
    ):
        SUBSCRIBERS.create(OURS, new(f"p{n}", values={"city": city}), tx)

    def values(prefix: str) -> list[str | float]:
        return [value for value, _ in suggested(prefix, tx).totals]

    assert values("ÖS") == values("ös") == ["Österreich", "österreich"]
    assert values("RNO") == values("_") == values("öst%") == []
    assert values("100%_") == ["100%_"]
    assert values("A[B]*") == ["a[b]*"]
    assert values("σσ") == ["Σς"]
    assert len(values("")) == 7


@pytest.mark.parametrize("tx", ["sqlite"], indirect=True)
@pytest.mark.parametrize("data_type", [DataType.TEXT, DataType.NUMBER])
def test_values_are_read_from_their_index(data_type: DataType, tx: Transaction) -> None:
    recording = RecordingTransaction(tx)

    frequent_values(OURS, "city", data_type, "", recording)

    plan = [line.partition(" (")[0] for line in recording.recorded[0].plan]
    index = "customvalue_account_id_key_subscriber_id_text_key_number_key"
    assert plan[1:4] == [
        "CO-ROUTINE counted",
        "CO-ROUTINE scanned",
        f"SEARCH t1 USING COVERING INDEX {index}",
    ]
