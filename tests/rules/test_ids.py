"""Identifiers: unique, rising whatever the clock does, and ULIDs to everyone else."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from server.errors import TagNotFound
from server.ids import Ids, checked_id, first_id_at, is_id, timestamp_of

NOW = 1_767_323_045_006
HOUR = 3_600_000
DAY = 24 * HOUR
LAST_MOMENT = 2**48 - 1


def made(moments: Iterable[int], *, newest: str | None = None) -> list[str]:
    """Returns an id for each moment that the clock shows."""
    clock = iter(moments)
    ids = Ids(lambda: next(clock))
    ids.start_past(newest)
    count = len(list(moments))
    return [ids.next() for _ in range(count)]


def assert_rise(ids: list[str]) -> None:
    """Holds if each id is greater than the one before; so none comes twice."""
    assert all(earlier < later for earlier, later in pairwise(ids))


@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(range(NOW, NOW + 100), id="clock runs"),
        pytest.param([NOW] * 10_000, id="10,000 in a millisecond"),
        pytest.param([NOW, NOW, NOW - HOUR, NOW - HOUR + 1, NOW - HOUR], id="back an hour"),
        pytest.param([NOW, NOW + DAY, NOW + DAY, NOW + DAY + 1], id="forward a day"),
        pytest.param([NOW, NOW + DAY, NOW, NOW + 1, NOW + 2 * DAY], id="there and back"),
    ],
)
def test_ids_rise(moments: list[int]) -> None:
    assert_rise(made(moments))


@pytest.mark.parametrize(
    "moments", [[NOW, NOW], [NOW, NOW - HOUR, NOW + DAY]], ids=["one millisecond", "steps"]
)
def test_ids_are_valid_ulids(moments: list[int]) -> None:
    for text in made(moments):
        assert str(ULID.from_str(text)) == text
        assert is_id(text)


def test_id_tells_the_millisecond_in_which_it_was_made() -> None:
    assert [ULID.from_str(text).milliseconds for text in made([NOW, NOW + DAY])] == [NOW, NOW + DAY]


@pytest.mark.parametrize("offset", [-DAY, 0, DAY], ids=["older", "same millisecond", "ahead"])
def test_ids_rise_past_the_newest_in_store(offset: int) -> None:
    newest = str(ULID.from_bytes(ULID.from_timestamp(NOW + offset).bytes[:6] + b"\xff" * 10))

    assert_rise([newest, *made([NOW, NOW, NOW + 1], newest=newest)])


def test_store_without_ids_changes_nothing() -> None:
    assert ULID.from_str(made([NOW], newest=None)[0]).milliseconds == NOW


def test_starting_past_an_older_id_does_not_take_the_ids_back() -> None:
    ids = Ids(lambda: NOW)
    first = ids.next()

    ids.start_past(made([NOW - DAY])[0])

    assert ids.next() > first


def test_ids_rise_over_every_carry_of_their_text() -> None:
    for low_bits in (5, 10, 20, 30, 40, 60):
        before = ULID.from_int((NOW << 80) + (1 << low_bits) - 2)
        assert_rise([str(before), *made([NOW] * 4, newest=str(before))])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KV", id="25 characters"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVHH", id="27 characters"),
        pytest.param("01m7y32pxm2am5zb10tm2f2kvh", id="lower case"),
        pytest.param("81M7Y32PXM2AM5ZB10TM2F2KVH", id="past the range"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVU", id="letter outside base 32"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KV\0", id="NUL"),
        pytest.param("01M7Y32PXM2AM5ZB10TM2F2KVH\n", id="line break"),
        pytest.param("../../../../../../etc/passw", id="path"),
    ],
)
def test_what_cannot_be_an_id_is_missing(text: str) -> None:
    assert not is_id(text)
    with pytest.raises(TagNotFound):
        checked_id(text, TagNotFound)


def test_an_id_is_returned_as_it_is() -> None:
    assert checked_id("01M7Y32PXM2AM5ZB10TM2F2KVH", TagNotFound) == "01M7Y32PXM2AM5ZB10TM2F2KVH"


MOMENTS = st.integers(0, LAST_MOMENT)


@given(MOMENTS, st.integers(0, 2**80 - 1))
def test_every_id_of_a_millisecond_tells_it(moment: int, random: int) -> None:
    assert timestamp_of(str(ULID.from_int((moment << 80) + random))) == moment


@given(MOMENTS, st.integers(0, 2**80 - 1))
def test_ids_of_a_millisecond_lie_between_its_first_id_and_the_next_ones(
    moment: int, random: int
) -> None:
    made = str(ULID.from_int((moment << 80) + random))

    assert first_id_at(moment) <= made
    assert moment == LAST_MOMENT or made < first_id_at(moment + 1)
    assert is_id(first_id_at(moment))
    assert timestamp_of(first_id_at(moment)) == moment


@given(MOMENTS, MOMENTS)
def test_first_ids_are_in_the_order_of_their_moments(one: int, other: int) -> None:
    assert (first_id_at(one) < first_id_at(other)) == (one < other)


@pytest.mark.parametrize(
    ("moment", "nearest"),
    [(-1, 0), (-62_135_596_800_000, 0), (LAST_MOMENT + 1, LAST_MOMENT), (2**63, LAST_MOMENT)],
)
def test_moment_that_no_id_tells_has_the_first_id_of_the_nearest(moment: int, nearest: int) -> None:
    assert first_id_at(moment) == first_id_at(nearest)


def test_ids_outlast_the_last_moment_of_a_timestamp() -> None:
    assert timestamp_of(first_id_at(253_402_300_799_999)) == 253_402_300_799_999


def test_id_that_was_made_tells_its_moment() -> None:
    assert [timestamp_of(text) for text in made([NOW, NOW + DAY])] == [NOW, NOW + DAY]


def test_two_who_hand_out_ids_at_the_same_time_have_none_in_common() -> None:
    taken = [text for _ in range(100) for text in Ids(lambda: NOW).take(3)]
    assert len(set(taken)) == 300
