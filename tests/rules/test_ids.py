"""Ids: unique, ascending for any clock, and valid ULIDs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from rosterd.server.rpc.errors import TagNotFound
from rosterd.server.values.ids import Ids, checked_id, first_id_at, ids_at, is_id, timestamp_of

from ..cases import each

NOW = 1_767_323_045_006
HOUR = 3_600_000
DAY = 24 * HOUR
LAST_TIMESTAMP = 2**48 - 1


def generate(timestamps: Iterable[int], *, newest: str | None = None) -> list[str]:
    """Returns one id for each time that the clock returns."""
    clock = iter(timestamps)
    ids = Ids(lambda: next(clock))
    ids.start_past(newest)
    count = len(list(timestamps))
    return [ids.next() for _ in range(count)]


def assert_ascending(ids: list[str]) -> None:
    assert all(earlier < later for earlier, later in pairwise(ids))


@pytest.mark.parametrize(
    "timestamps",
    [
        pytest.param(range(NOW, NOW + 100), id="clock advances"),
        pytest.param([NOW] * 10_000, id="10,000 in a millisecond"),
        pytest.param([NOW, NOW, NOW - HOUR, NOW - HOUR + 1, NOW - HOUR], id="back an hour"),
        pytest.param([NOW, NOW + DAY, NOW + DAY, NOW + DAY + 1], id="forward a day"),
    ],
)
def test_ids_are_ascending(timestamps: list[int]) -> None:
    assert_ascending(generate(timestamps))


@pytest.mark.parametrize("offset", [-DAY, 0, DAY], ids=["older", "same millisecond", "ahead"])
def test_ids_are_greater_than_the_newest_stored_id(offset: int) -> None:
    newest = str(ULID.from_bytes(ULID.from_timestamp(NOW + offset).bytes[:6] + b"\xff" * 10))

    assert_ascending([newest, *generate([NOW, NOW, NOW + 1], newest=newest)])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVHH", id="27 characters"),
        pytest.param("01m7y32pxm2am5zb10tm2f2kvh", id="lower case"),
        pytest.param("81M7Y32PXM2AM5ZB10TM2F2KVH", id="past the range"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVU", id="letter outside base 32"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVH\n", id="line break"),
    ],
)
def test_malformed_id_is_not_found(text: str) -> None:
    assert not is_id(text)
    with pytest.raises(TagNotFound):
        checked_id(text, TagNotFound)


TIMESTAMPS = st.integers(0, LAST_TIMESTAMP)


@given(TIMESTAMPS, st.integers(0, 2**80 - 1))
def test_ids_of_a_millisecond_are_between_its_first_id_and_the_next_first_id(
    timestamp: int, random: int
) -> None:
    text = str(ULID.from_int((timestamp << 80) + random))

    assert first_id_at(timestamp) <= text
    assert timestamp == LAST_TIMESTAMP or text < first_id_at(timestamp + 1)
    assert is_id(first_id_at(timestamp))
    assert timestamp_of(first_id_at(timestamp)) == timestamp


@each(("timestamp", "nearest"), [(-1, 0), (LAST_TIMESTAMP + 1, LAST_TIMESTAMP)])
def test_timestamp_out_of_range_has_the_nearest_first_id(timestamp: int, nearest: int) -> None:
    assert first_id_at(timestamp) == first_id_at(nearest)


def test_generators_of_the_same_millisecond_return_different_ids() -> None:
    ids = [text for _ in range(100) for text in Ids(lambda: NOW).take(3)]
    assert len(set(ids)) == 300


def test_ids_at_given_times_have_these_times_and_ascend_within_each() -> None:
    times = [5, 0, 5, 253_402_300_799_999, 5]

    ids = ids_at(times, NOW)

    assert [timestamp_of(id_) for id_ in ids] == times
    assert all(is_id(id_) and str(ULID.from_str(id_)) == id_ for id_ in ids)
    assert ids[0] < ids[2] < ids[4]
    assert not {*ids} & {*ids_at(times, NOW)}
    assert max(ids[0::2]) < min(ids_at([5], NOW + 1))
