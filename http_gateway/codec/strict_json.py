"""JSON, read strictly: what a lenient parser lets through is refused here.

orjson refuses what is not JSON (trailing garbage, NaN, numbers beyond a double,
bad UTF-8, lone surrogates, a byte-order mark). Two things it does not tell are
found here: nesting that is too deep, and keys that are given twice. A body whose
colons are as many as the keys of the parsed value has no key twice; only where
colons stand in texts as well does the slow reading by the standard library,
which shows every pair, have to decide.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from ..faults import Faults, RequestFault, invalid, invalid_body, join

MAX_DEPTH = 32
# The largest request that keeps every bound, a bulk of 100 rows with 100 tags each,
# holds half as many. More would keep the event loop busy before the key was looked at.
MAX_VALUES = 20_000

# A text, which may hold brackets of its own, or a bracket.
_BRACKET = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')


def read(body: bytes) -> Any:
    """Returns the value that a body holds. Raises RequestFault, a VALIDATION_ERROR."""
    if not body.strip():
        raise invalid_body("INVALID_JSON", "must be a JSON object, and is empty")
    if body.count(b",") > MAX_VALUES:
        raise invalid_body("INVALID_JSON", f"must not hold more than {MAX_VALUES:,} values")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid_body("INVALID_JSON", _why(body, error)) from None
    if _count_keys(value, 1) != body.count(b":"):
        _refuse_duplicates(body)
    return value


def _why(body: bytes, error: orjson.JSONDecodeError) -> str:
    if body.startswith(b"\xef\xbb\xbf"):
        return "must not begin with a byte-order mark"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "must be encoded in UTF-8"
    return f"must be well-formed JSON; line {error.lineno}, column {error.colno} is not"


def _count_keys(value: Any, depth: int) -> int:
    if depth > MAX_DEPTH and isinstance(value, (dict, list)):
        raise _too_deep()
    if type(value) is dict:
        keys, items = len(value), value.values()
    elif type(value) is list:
        keys, items = 0, value  # type: ignore[assignment]
    else:
        return 0
    for item in items:
        if type(item) is dict or type(item) is list:
            keys += _count_keys(item, depth + 1)
    return keys


def _refuse_depth(body: bytes) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket[0], 0)
        if depth > MAX_DEPTH:
            raise _too_deep()


def _too_deep() -> RequestFault:
    return invalid_body("INVALID_JSON", f"must not be nested more than {MAX_DEPTH} deep")


class _Object(dict[str, Any]):
    """An object that remembers which of its keys came more than once."""

    repeated: set[str]


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    value = _Object(pairs)
    seen: set[str] = set()
    value.repeated = {key for key, _ in pairs if key in seen or seen.add(key)}  # type: ignore[func-returns-value]
    return value


def _refuse_duplicates(body: bytes) -> None:
    # A value that a later one of the same key replaced was not looked at yet.
    _refuse_depth(body)
    faults = Faults()
    _collect_duplicates(json.loads(body, object_pairs_hook=_object), "", faults)
    if faults:
        raise invalid(faults)


def _collect_duplicates(value: Any, path: str, faults: Faults) -> None:
    if isinstance(value, _Object):
        for key in sorted(value.repeated):
            faults.add(join(path, key), "DUPLICATE_FIELD", "is given more than once")
        for key, item in value.items():
            _collect_duplicates(item, join(path, key), faults)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_duplicates(item, f"{path}[{index}]", faults)
