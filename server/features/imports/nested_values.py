"""Finds opt-outs in JSON objects and arrays, which some services export as the value of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

import orjson
from google.protobuf.struct_pb2 import ListValue, Struct

from ...values.texts import column_key
from ..subscribers.fields import Status
from ..subscribers.rules import strictest
from .consent_columns import (
    StateKind,
    is_other_channel,
    names_opt_ins,
    names_opt_outs,
    state_kind,
)
from .status_words import status_in

# A longer cell of a CSV file is not parsed.
_MAX_LENGTH = 10_000
_STATUS = "status"
JSON_STARTS = frozenset("{[")


def opt_out_in_cell(cell: str) -> Status | None:
    """Returns the strictest opt-out in a cell of a CSV file that is a JSON object or array."""
    if cell[:1] not in JSON_STARTS or len(cell) > _MAX_LENGTH:
        return None
    try:
        return opt_out_in("", orjson.loads(cell))
    except ValueError:
        return None


def opt_out_in(name: str, value: Any) -> Status | None:
    """Returns the strictest opt-out that a value, or one in it, states."""
    return reduce(strictest, map(_stated, _members(name, value)), None)


def _members(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the texts and flags in a value, each with the name of its member."""
    left = [(name, value)]
    while left:
        name, value = left.pop()
        if isinstance(value, Mapping | Struct):
            left += [each for each in value.items() if not is_other_channel(column_key(each[0]))]
        elif isinstance(value, list | ListValue):
            left += [(name, item) for item in value]
        else:
            yield name, value


def _stated(member: tuple[str, Any]) -> Status | None:
    name, value = member
    key = column_key(name)
    if isinstance(value, str):
        return status_in(value, StateKind.PERSON if key == _STATUS else state_kind(key))
    states_flag = names_opt_outs(name) if value is True else value is False and names_opt_ins(name)
    return Status.UNSUBSCRIBED if states_flag else None
