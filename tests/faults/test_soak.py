"""What a soak makes of what it sees; `make faults` lets one last a minute or longer."""

from __future__ import annotations

from .promises import soak
from .promises.checker import broken
from .promises.soak import LeasedDelivery, compared

FLAT = [LeasedDelivery(120.0, 40, 4.0)] * 30


def test_service_that_takes_no_more_with_time_keeps_the_promise() -> None:
    assert broken(compared(FLAT), soak.AT_MOST) == {}


def test_memory_that_grows_by_more_than_a_tenth_is_found_out() -> None:
    grown = [LeasedDelivery(120.0 + number, 40, 4.0) for number in range(30)]

    assert broken(compared(grown), soak.AT_MOST) == {"memory, of the first third": 1.161}


def test_descriptors_that_stay_open_are_found_out() -> None:
    grown = [LeasedDelivery(120.0, 40 + number, 4.0) for number in range(30)]

    assert broken(compared(grown), soak.AT_MOST) == {"descriptors more": 20}


def test_log_of_sqlite_that_was_too_large_for_a_moment_is_found_out() -> None:
    assert broken(compared([*FLAT, LeasedDelivery(120.0, 40, 17.0)]), soak.AT_MOST) == {
        "MiB of SQLite's log": 17
    }
