"""Finds opt-outs in JSON objects and arrays, which some services export as the value of a field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any, NamedTuple

import orjson
from google.protobuf.struct_pb2 import ListValue, Struct

from ...values.texts import column_key
from ..subscribers.fields import Status
from ..subscribers.rules import strictest
from .cells import flag_of
from .consent_columns import (
    StateKind,
    is_about_mail,
    is_opt_in_flag,
    is_opt_out_flag,
    is_opt_out_time,
    is_other_channel,
    state_kind,
)
from .status_words import status_in

# A longer cell of a CSV file is not parsed.
_MAX_LENGTH = 10_000
_STATUS = "status"
JSON_STARTS = frozenset("{[")


def opt_out_in_cell(column: str, cell: str) -> Status | None:
    """Returns the strictest opt-out in a cell of a CSV file that is a JSON object or array."""
    if len(cell) > _MAX_LENGTH or cell.lstrip()[:1] not in JSON_STARTS:
        return None
    try:
        return opt_out_in(column, orjson.loads(cell))
    except ValueError:
        return None


def opt_out_in(name: str, value: Any) -> Status | None:
    """Returns the strictest opt-out that a value, or one in it, states.

    Words with several meanings only count in what is about mail: an order can be removed too.
    """
    return reduce(strictest, map(_stated, _members(name, value)), None)


class _Member(NamedTuple):
    """A text, number or flag with its name, and whether a name around it is about mail."""

    key: str
    value: Any
    is_about_mail: bool


def _members(name: str, value: Any) -> Iterator[_Member]:
    key = column_key(name)
    left = [_Member(key, value, is_about_mail(key))]
    while left:
        key, value, about_mail = left.pop()
        if isinstance(value, Mapping | Struct):
            values = [(column_key(each), item) for each, item in value.items()]
            channel = dict(values).get("channel")
            if isinstance(channel, str) and is_other_channel(column_key(channel)):
                continue
            left += [
                _Member(each, item, about_mail or is_about_mail(each))
                for each, item in values
                if not is_other_channel(each)
            ]
        elif isinstance(value, list | ListValue):
            left += [_Member(key, item, about_mail) for item in value]
        else:
            yield _Member(key, value, about_mail)


def _stated(member: _Member) -> Status | None:
    key, value, _ = member
    text = value if isinstance(value, str) else str(value).removesuffix(".0").lower()
    if not text or text == "none":
        return None
    if (
        (is_opt_out_time(key) and flag_of(text) is not False)
        or (is_opt_out_flag(key) and flag_of(text))
        or (is_opt_in_flag(key) and flag_of(text) is False)
    ):
        return Status.UNSUBSCRIBED
    if not member.is_about_mail:
        return status_in(text)
    return status_in(text, StateKind.PERSON if key == _STATUS else state_kind(key))
