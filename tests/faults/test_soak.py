"""Evaluation of the soak test; `make faults` runs one for a minute or longer."""

from __future__ import annotations

from .promises import soak
from .promises.checker import broken
from .promises.soak import Usage, compared

CONSTANT_USAGE = [Usage(120.0, 40, 4.0)] * 30


def test_constant_usage_keeps_the_promise() -> None:
    assert broken(compared(CONSTANT_USAGE), soak.AT_MOST) == {}


def test_memory_growth_of_more_than_a_tenth_is_detected() -> None:
    grown = [Usage(120.0 + number, 40, 4.0) for number in range(30)]

    assert broken(compared(grown), soak.AT_MOST) == {"memory, of the first third": 1.161}


def test_descriptors_left_open_are_detected() -> None:
    grown = [Usage(120.0, 40 + number, 4.0) for number in range(30)]

    assert broken(compared(grown), soak.AT_MOST) == {"descriptor growth": 20}


def test_temporarily_large_wal_is_detected() -> None:
    assert broken(compared([*CONSTANT_USAGE, Usage(120.0, 40, 17.0)]), soak.AT_MOST) == {
        "MiB of the SQLite WAL": 17
    }
