"""Converts a body in a known character encoding to UTF-8 while it arrives.

UTF-8 and UTF-16 are detected by their byte order marks, which take precedence over the named
encoding. Any other encoding except UTF-8 must be named.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator

from ..request_errors import RequestError, single_violation

# The names of codecs, which are imported when they are used. Python has others, and some of them,
# such as zlib, are not character encodings.
CHARSETS = {
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "ascii", "mac-roman", "koi8-r", "koi8-u"),
    *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    *(f"cp{page}" for page in (*range(1250, 1259), 437, 850, 852, 866, 874, 932)),
    *("shift_jis", "euc_jp", "iso2022_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr"),
}
_UTF_8 = "utf-8"
# The codecs of bodies, and of text without the mark, by byte order mark.
_MARKS = {
    codecs.BOM_UTF8: (_UTF_8, _UTF_8),
    codecs.BOM_UTF16_LE: ("utf-16", "utf-16-le"),
    codecs.BOM_UTF16_BE: ("utf-16", "utf-16-be"),
}
_MARK_BYTES = 3


def codec_name(charset: str) -> str:
    """Returns the name of a codec by the name of a charset. Raises LookupError."""
    # For NUL, `lookup` raises ValueError instead of LookupError.
    if not charset.isascii() or not charset.isprintable():
        raise LookupError(charset)
    name = codecs.lookup(charset).name
    if name not in CHARSETS:
        raise LookupError(charset)
    return name


class Converter:
    """Converts one body to UTF-8. Text in UTF-8 is returned unchanged and unchecked."""

    def __init__(self, charset: str, field: str) -> None:
        """Raises RequestError for `field` if the charset is unknown; "" is UTF-8."""
        try:
            self._name = codec_name(charset) if charset else ""
        except LookupError:
            message = "must be a supported character encoding, such as windows-1252 or utf-16"
            raise single_violation("INVALID_VALUE", message, field) from None
        # The encoding of text without a byte order mark.
        self._text_encoding = self._name or _UTF_8
        self.byte_order_mark = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._start = b""
        self._has_started = False
        # The position of the next byte: completed lines, and bytes in the current line.
        self._lines = 0
        self._bytes = 0

    def feed(self, data: bytes, *, is_last: bool = False) -> Iterator[bytes]:
        """Yields text in UTF-8. Raises RequestError after the text before an invalid byte."""
        if not self._has_started:
            data = self._start + data
            if len(data) < _MARK_BYTES and not is_last:
                self._start = data
                return
            self._begin(data)
        if self._decoder is None:
            yield data
            return
        pending = self._decoder.getstate()[0]
        try:
            text = self._decoder.decode(data, is_last)
        except UnicodeDecodeError as error:
            valid = (pending + data)[: error.start].decode(self._name, "ignore")
            yield valid.encode()
            self._count(valid)
            raise self._error() from None
        except UnicodeError:
            # UTF-16 without a byte order mark.
            raise self._error() from None
        # A lone surrogate cannot be encoded.
        yield text.encode(errors="replace")
        self._count(text)

    def _begin(self, data: bytes) -> None:
        self._has_started = True
        for mark, names in _MARKS.items():
            if data.startswith(mark):
                self.byte_order_mark = mark
                self._name, self._text_encoding = names
        if self._name not in ("", _UTF_8):
            self._decoder = codecs.getincrementaldecoder(self._name)()

    def encode(self, text: str) -> bytes:
        """Returns text in the encoding of the body. Characters without a code become `?`."""
        return text.encode(self._text_encoding, "replace")

    def _count(self, text: str) -> None:
        # The codec utf-16 would add a byte order mark.
        name = self._name if self._name != "utf-16" else "utf-16-le"
        if "\n" not in text:  # Lines end with CR, or the text is a part of a line.
            text = text.replace("\r", "\n")
        before, _, line = text.rpartition("\n")
        if len(line) < len(text):
            self._lines += before.count("\n") + 1
            self._bytes = 0
        self._bytes += len(line.encode(name, "replace"))

    def _error(self) -> RequestError:
        message = (
            f"must be encoded in {self._name} (line {self._lines + 1}, byte {self._bytes + 1})"
        )
        return single_violation("INVALID_FORMAT", message)
