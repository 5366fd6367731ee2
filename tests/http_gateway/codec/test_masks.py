"""FieldMask between JSON and protobuf."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask
from hypothesis import given
from hypothesis import strategies as st

from rosterd.http_gateway.codec.masks import fill_mask, write_mask
from rosterd.http_gateway.codec.scalars import NoJsonForm

from .rejection import code_of

NAMES = st.from_regex(r"_?[a-z][a-z0-9]{0,3}(_[a-z][a-z0-9]{0,3}){0,2}", fullmatch=True)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)


def read_mask(value: Any) -> FieldMask:
    mask = FieldMask()
    fill_mask(value, mask)
    return mask


@given(st.lists(PATHS, max_size=3))
def test_mask_survives_a_round_trip_and_matches_protobuf(paths: list[str]) -> None:
    mask = FieldMask(paths=paths)

    assert write_mask(mask) == mask.ToJsonString()
    assert read_mask(write_mask(mask)) == mask


def test_mask_paths_are_in_camel_case() -> None:
    assert read_mask("firstName,customFields.homeTown") == FieldMask(
        paths=["first_name", "custom_fields.home_town"]
    )


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *[(text, "INVALID_FORMAT") for text in ("first_name", "a,,b", ",", "a,")],
        *[(None, "INVALID_TYPE"), (1, "INVALID_TYPE"), ([], "INVALID_TYPE"), ({}, "INVALID_TYPE")],
    ],
)
def test_invalid_mask_is_rejected(value: Any, code: str) -> None:
    assert code_of(read_mask, value) == code


@pytest.mark.parametrize("path", ["firstName", "a__b", "a,b"])
def test_irreversible_path_is_not_written(path: str) -> None:
    with pytest.raises(NoJsonForm, match="no JSON form"):
        write_mask(FieldMask(paths=["a", path]))
