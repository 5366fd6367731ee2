"""Parses JSON strictly: rejects duplicate keys and deep nesting.

orjson refuses what is not JSON (trailing garbage, NaN, numbers beyond a double,
bad UTF-8, lone surrogates, a byte-order mark). Two things it does not tell are
found here: nesting that is too deep, and keys that are given twice. An object with as
many keys as its body has colons lost none, and holds no other that has any. Every other
value is written again, indented: a line that begins with many blanks is a deep one, and a
text that has as many colons as the body lost no key. Only where one may have been
lost does the slow reading by the standard library, which shows every pair, decide.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from ..request_errors import RequestError, Violations, invalid, invalid_body, join

MAX_DEPTH = 32
# Objects, arrays, strings that are not keys, numbers and literals. The largest request that
# keeps every other bound, a bulk of 100 rows with 100 tags and 100 custom field values each,
# holds 20,702. More would keep the event loop busy before the key is checked.
MAX_VALUES = 25_000

# A text, which may hold brackets of its own, or a bracket. A text is taken from escape to
# escape and never given back: byte by byte, a megabyte of it would take a tenth of a second.
_BRACKET = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]')


def loads(body: bytes, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> Any:
    """Returns the value that a body holds. Raises RequestError, a VALIDATION_ERROR.

    `max_depth` is 254 at most, as deep as orjson writes.
    """
    # Each value but the innermost takes one byte more than its own.
    if len(body) > 2 * max_values and _has_more_values(body, max_values):
        raise invalid_body("INVALID_JSON", f"must contain at most {max_values:,} values")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise invalid_body("INVALID_JSON", _why(body, error)) from None
    colons = body.count(b":")
    if type(value) is dict and len(value) == colons and body.count(b"[") < max_depth - 1:
        return value
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        raise _too_deep(max_depth) from None
    if b"\n" + b"  " * max_depth in text and _is_deeper(value, max_depth):
        raise _too_deep(max_depth)
    # A colon that was written as an escape is one more in the text than in the body.
    escaped = b"\\" in body and (b"\\u003a" in body or b"\\u003A" in body)
    if escaped or text.count(b":") != colons:
        _refuse_duplicates(body, max_depth)
    return value


def _has_more_values(body: bytes, limit: int) -> bool:
    """Returns whether a body holds more values than the limit, without parsing it.

    Exact for well-formed JSON. It protects the event loop: a megabyte takes at most 5 ms, and
    1 to 2 ms if it has few commas and brackets, inside strings or outside.
    """
    if sum(map(body.count, (b",", b"[", b"{"))) < limit:
        return False
    # Only strings hold backslashes. Without escaped backslashes and quotes, every second part
    # between quotes is inside a string.
    text = body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body
    # A string has two quotes, and is a value or the key of one.
    if text.count(b'"') > 4 * limit:
        return True
    outside = b'"'.join(text.split(b'"')[::2]).translate(None, b" \t\n\r")
    count = outside.count
    # Each array or object that is not empty adds one value more than it has commas.
    containers = count(b"[") - count(b"[]") + count(b"{") - count(b"{}")
    return 1 + count(b",") + containers > limit


def _why(body: bytes, error: orjson.JSONDecodeError) -> str:
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
    """Whether arrays and objects are nested in more levels than these."""
    if type(value) is not dict and type(value) is not list:
        return False
    items = value.values() if type(value) is dict else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)


def _refuse_depth(body: bytes, max_depth: int) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(body):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(bracket[0], 0)
        if depth > max_depth:
            raise _too_deep(max_depth)


def _too_deep(max_depth: int) -> RequestError:
    return invalid_body("INVALID_JSON", f"must be nested at most {max_depth} levels deep")


class _Object(dict[str, Any]):
    """An object that remembers which of its keys came more than once."""

    repeated: set[str]


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    value = _Object(pairs)
    seen: set[str] = set()
    value.repeated = {key for key, _ in pairs if key in seen or seen.add(key)}  # type: ignore[func-returns-value]
    return value


def _refuse_duplicates(body: bytes, max_depth: int) -> None:
    # A value that a later one of the same key replaced was not looked at yet.
    _refuse_depth(body, max_depth)
    violations = Violations()
    _collect_duplicates(json.loads(body, object_pairs_hook=_object), "", violations)
    if violations:
        raise invalid(violations)


def _collect_duplicates(value: Any, path: str, violations: Violations) -> None:
    if isinstance(value, _Object):
        for key in sorted(value.repeated):
            violations.add(join(path, key), "DUPLICATE_FIELD", "is specified more than once")
        for key, item in value.items():
            _collect_duplicates(item, join(path, key), violations)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_duplicates(item, f"{path}[{index}]", violations)
