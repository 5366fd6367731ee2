"""Parses JSON strictly: rejects duplicate keys and deep nesting.

orjson rejects malformed JSON (trailing garbage, NaN, numbers beyond a double, invalid
UTF-8, lone surrogates, a byte-order mark). This module also rejects deep nesting and
duplicate keys, which orjson accepts:

- If an object has as many keys as its body has colons, no key was dropped and no inner
  object has keys. It is returned at once.
- Any other value is serialized again with indentation. A deeply indented line shows deep
  nesting, and fewer colons than in the body mean that a key was dropped.
- Only then does the slow parser of the standard library find the duplicate keys.

Rows fail alone. If a body is rejected, the slow parser also finds the rows with the error: with
duplicate keys, lone surrogates or numbers beyond a double.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

import orjson

from ..request_errors import RequestError, Violations, join, single_violation, validation_error

MAX_DEPTH = 32
# The depth that orjson serializes.
MAX_SERIALIZED_DEPTH = 254
# Counts objects, arrays, numbers, literals, and strings that are not keys. The largest request
# within all other bounds has 20,702: a bulk of 100 rows with 100 tags and 100 custom field
# values each. More would block the event loop before the API key is checked.
MAX_VALUES = 25_000

# A string, which can contain brackets, or a bracket. The possessive quantifiers avoid
# backtracking, which would take a tenth of a second for a string of one megabyte.
_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]')

_SURROGATE = re.compile("[\ud800-\udfff]")
# Longer integers are floats, as orjson returns them.
_INTEGER_DIGITS = 18


def loads(body: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:
    """Parses a body. Raises RequestError, a VALIDATION_ERROR.

    `max_depth` is at most MAX_SERIALIZED_DEPTH.
    """
    # Every value needs at least two bytes, except the innermost.
    if len(body) > 2 * max_values and _has_more_values(body, max_values):
        raise single_violation("INVALID_JSON", f"must contain at most {max_values:,} values")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise single_violation("INVALID_JSON", _syntax_error(body, error)) from None
    colons = body.count(b":")
    if type(value) is dict and len(value) == colons and body.count(b"[") < max_depth - 1:
        return value
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        raise _too_deep(max_depth) from None
    if b"\n" + b"  " * max_depth in text and _is_deeper(value, max_depth):
        raise _too_deep(max_depth)
    # A colon escaped in the body is an additional colon in the text.
    escaped = b"\\" in body and (b"\\u003a" in body or b"\\u003A" in body)
    if escaped or text.count(b":") != colons:
        _reject_duplicates(body, max_depth)
    return value


def _has_more_values(body: bytes, limit: int) -> bool:
    """Returns whether a body holds more values than the limit, without parsing it.

    Exact for well-formed JSON. It protects the event loop: a megabyte takes at most 5 ms, and
    1 to 2 ms if it has few commas and brackets, inside strings or outside.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) < limit:
        return False
    # Only strings contain backslashes. Without escaped backslashes and quotes, every second
    # segment between quotes is inside a string.
    text = body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body
    # A string has two quotes, and is either a value or the key of one.
    if text.count(b'"') > 4 * limit:
        return True
    outside = b'"'.join(text.split(b'"')[::2]).translate(None, b" \t\n\r")
    count = outside.count
    # A nonempty array or object has one more item than commas.
    containers = count(b"[") - count(b"[]") + count(b"{") - count(b"{}")
    return 1 + count(b",") + containers > limit


def _syntax_error(body: bytes, error: orjson.JSONDecodeError) -> str:
    if not body.strip():
        return "must be a JSON object, but is empty"
    if body.startswith(b"\xef\xbb\xbf"):
        return "must not begin with a byte-order mark"
    try:
        body.decode()
    except UnicodeDecodeError:
        return "must be encoded in UTF-8"
    return f"must be well-formed JSON (error at line {error.lineno}, column {error.colno})"


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects are nested more than `levels` deep."""
    if type(value) is not dict and type(value) is not list:
        return False
    items = value.values() if type(value) is dict else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)


def _check_depth_of_text(body: bytes, max_depth: int) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket[0], 0)
        if depth > max_depth:
            raise _too_deep(max_depth)


def _too_deep(max_depth: int) -> RequestError:
    return single_violation("INVALID_JSON", f"must be nested at most {max_depth} levels deep")


class InvalidRow(dict[str, Any]):
    """The valid values of a row, and its strings with lone surrogates replaced.

    `invalid` are the keys of the invalid values, and `repeated` all values of duplicate keys.
    """

    def __init__(
        self, values: dict[str, Any], invalid: list[str], repeated: Mapping[str, list[Any]]
    ) -> None:
        super().__init__(values)
        self.invalid = invalid
        self.repeated = repeated


def loads_rows(body: bytes, arrays: Collection[str]) -> Any:
    """Parses a body in which these keys hold arrays of rows or texts. Raises RequestError.

    Rows with invalid values become InvalidRow. Lone surrogates in a text are replaced.
    """
    try:
        return loads(body)
    except RequestError:
        value = _parsed(body) if arrays else None
        if type(value) is not dict:
            raise
        _check_depth_of_text(body, MAX_DEPTH)
        rows = {
            key: [_row(item) for item in items]
            for key, items in value.items()
            if key in arrays and type(items) is list
        }
        if not _is_valid({key: value[key] for key in value.keys() - rows.keys()}, MAX_DEPTH):
            raise
        return {**value, **rows}


def loads_row(body: bytes) -> Any:
    """Parses a row, which becomes InvalidRow if it has invalid values; None if it is not JSON."""
    try:
        return loads(body)
    except RequestError:
        return _row(_parsed(body))


class _DuplicateKeys(dict[str, Any]):
    """An object with duplicate keys."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        values: dict[str, list[Any]] = {}
        for key, value in pairs:
            values.setdefault(key, []).append(value)
        self.duplicates = {key: values[key] for key in sorted(values) if len(values[key]) > 1}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _DuplicateKeys(pairs)


def _reject_duplicates(body: bytes, max_depth: int) -> None:
    # The values of dropped keys have not been checked yet.
    _check_depth_of_text(body, max_depth)
    violations = Violations()
    _collect_duplicates(json.loads(body, object_pairs_hook=_object), "", violations)
    if violations:
        raise validation_error(violations)


def _collect_duplicates(value: Any, path: str, violations: Violations) -> None:
    if isinstance(value, _DuplicateKeys):
        for key in value.duplicates:
            violations.add(join(path, key), "DUPLICATE_FIELD", "is specified more than once")
    if isinstance(value, dict):
        for key, item in value.items():
            _collect_duplicates(item, join(path, key), violations)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_duplicates(item, f"{path}[{index}]", violations)


def _parsed(body: bytes) -> Any:
    """Parses JSON with invalid values; None if it is not well-formed, or too large or deep."""
    if len(body) > 2 * MAX_VALUES and _has_more_values(body, MAX_VALUES):
        return None
    try:
        # Python's parser is recursive.
        _check_depth_of_text(body, MAX_SERIALIZED_DEPTH)
        return json.loads(
            body.decode(),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_constant=_reject_constant,
        )
    except (ValueError, RequestError):
        return None


def _integer(text: str) -> float:
    # Python limits the digits of an int.
    return int(text) if len(text) <= _INTEGER_DIGITS else float(text)


def _reject_constant(name: str) -> None:
    raise ValueError(name)


def _row(value: Any) -> Any:
    """Returns a parsed row, as InvalidRow if it is an object with invalid values, or a text."""
    if not isinstance(value, dict):
        return _replaced(value)
    repeated: dict[str, list[Any]] = getattr(value, "duplicates", {})
    values, invalid = {}, list(repeated)
    for key, item in value.items():
        if _is_valid({key: item}, MAX_DEPTH):
            values[key] = item
            continue
        invalid.append(key)
        if type(item) is str:
            values[key] = item
    values = {_replaced(key): _replaced(item) for key, item in values.items()}
    if not invalid:
        return values
    repeated = {_replaced(key): [*map(_replaced, each)] for key, each in repeated.items()}
    return InvalidRow(values, [_replaced(key) for key in invalid], repeated)


def _replaced(value: Any) -> Any:
    return _SURROGATE.sub("\ufffd", value) if type(value) is str else value


def _is_valid(value: Any, levels: int) -> bool:
    """Whether a value has no invalid parts, and is nested at most `levels` deep."""
    kind = type(value)
    if kind is str:
        return _SURROGATE.search(value) is None
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        return levels > 0 and all(
            _is_valid(key, 0) and _is_valid(item, levels - 1) for key, item in value.items()
        )
    if kind is list:
        return levels > 0 and all(_is_valid(item, levels - 1) for item in value)
    return kind is not _DuplicateKeys
