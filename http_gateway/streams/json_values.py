"""Splits a body of JSON into values: the lines of NDJSON, or the items of one array.

The body is an array if its first character is a bracket. Its items can extend over several lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..request_errors import RequestError, single_violation
from .records import BOM, MAX_RECORD_BYTES, LineSplitter, Record

# An array can start after less whitespace than this.
_MAX_BLANKS = 1024
# The rest of a string, and the tokens of an array. The group is empty if the string continues after
# the data. The possessive quantifiers avoid backtracking.
_STRING = rb'(?:[^"\\]++|\\.)*+("?)'
_REST_OF_STRING = re.compile(_STRING, re.DOTALL)
# Objects and arrays that hold no others are one token, because nearly all items are such objects.
_FLAT = rb'[\[{](?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+[\]}]'
_TOKEN = re.compile(rb'%b()|"%b|[\[\]{},]' % (_FLAT, _STRING), re.DOTALL)
# After this number of tokens the caller can yield to the event loop.
_TOKENS_AT_ONCE = 64
_ACCEPTED = "one JSON object per line, or one JSON array of objects that is not in an object"


def accepted_error() -> RequestError:
    """Returns the error for a body that is JSON, but neither lines nor an array."""
    return single_violation("INVALID_JSON", f"must be {_ACCEPTED}")


class JsonSplitter:
    """Splits a body that arrives in pieces. An item of an array is numbered by its position."""

    def __init__(self) -> None:
        self._start = b""
        self._splitter: LineSplitter | _ArraySplitter | None = None
        self._has_values = False

    def feed(self, data: bytes) -> Iterator[Record | None]:
        """Yields the values that end within the data, and None for a blank line."""
        if self._splitter is None:
            data = self._start = self._start + data
            text = data.removeprefix(BOM).lstrip()
            if BOM.startswith(data) or (not text and len(data) < _MAX_BLANKS):
                return
            if text.startswith(b"["):
                self._splitter, data = _ArraySplitter(), text[1:]
            else:
                self._splitter = LineSplitter()
        yield from self._values(self._splitter.feed(data))

    def finish(self) -> Iterator[Record | None]:
        if self._splitter is None:
            self._splitter = LineSplitter()
            yield from self._values(self._splitter.feed(self._start))
        yield from self._values(self._splitter.finish())

    def _values(self, records: Iterator[Record | None]) -> Iterator[Record | None]:
        try:
            for record in records:
                if record is None or not record.data.strip():
                    yield None
                else:
                    self._has_values = True
                    yield record
        except RequestError as error:
            # A first line that is too long can be an object with all rows.
            if not self._has_values and isinstance(self._splitter, LineSplitter):
                for detail in error.error.details:
                    text, _, line = detail.message.rpartition(" (")
                    detail.message = f"{text}. Send {_ACCEPTED} ({line}"
            raise


class _ArraySplitter:
    """Splits the rest of a body after the bracket of an array. Each byte is examined once."""

    def __init__(self) -> None:
        self._item = bytearray()
        self._count = 0
        self._depth = 0
        self._in_string = False
        # A backslash at the end of a piece.
        self._held_back = b""
        self._has_ended = False

    def feed(self, data: bytes) -> Iterator[Record | None]:
        data = self._held_back + data
        self._held_back = b""
        position = start = 0
        if self._in_string:
            position = self._after_string(_REST_OF_STRING.match(data), data)
        tokens = _TOKEN.finditer(data, position) if not self._in_string else iter(())
        for number, token in enumerate(tokens):
            if number % _TOKENS_AT_ONCE == _TOKENS_AT_ONCE - 1:
                yield None
            kind = data[token.start() : token.start() + 1]
            if token[1] is not None and not self._has_ended:
                continue
            if kind == b'"':
                self._after_string(token, data)
            elif self._has_ended:
                break
            elif kind in b"[{":
                self._depth += 1
            elif self._depth == 0:
                self._item += data[start : token.start()]
                start = token.end()
                self._has_ended = kind == b"]"
                if not self._has_ended or self._count or self._item.strip():
                    yield self._record(kind)
            elif kind != b",":
                self._depth -= 1
        self._item += data[start : len(data) - len(self._held_back)]
        if self._has_ended and self._item.strip():
            raise single_violation("INVALID_JSON", "must end after the array")
        self._check_size(self._count + 1)

    def finish(self) -> Iterator[Record | None]:
        if not self._has_ended:
            raise single_violation(
                "INVALID_JSON", f"must be an array that is closed (item {self._count + 1})"
            )
        return iter(())

    def _after_string(self, string: re.Match[bytes] | None, data: bytes) -> int:
        """Returns the position after a string, or its part in the data."""
        assert string is not None
        self._in_string = not string[string.lastindex or 0]
        if self._in_string:
            self._held_back = data[string.end() :]
        return string.end()

    def _record(self, end: bytes) -> Record:
        self._count += 1
        self._check_size(self._count)
        item = bytes(self._item).strip()
        self._item.clear()
        if not item or end == b"}":
            text = f"must be an array of objects separated by commas (item {self._count})"
            raise single_violation("INVALID_JSON", text)
        return Record(self._count, item)

    def _check_size(self, number: int) -> None:
        if len(self._item) > MAX_RECORD_BYTES:
            message = f"has an item of more than {MAX_RECORD_BYTES:,} bytes (item {number})"
            raise single_violation("TOO_LONG", message)
