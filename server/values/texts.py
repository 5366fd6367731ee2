"""Checks the characters of text in requests, and converts names.

Text on one line must not contain the control characters of Unicode, nor its line and paragraph
separators: it can become part of the header of a mail. Multiline text can contain tabs, line breaks
and the control characters U+0080 to U+009F.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import cache, lru_cache, wraps
from typing import Any, TypeVar

Result = TypeVar("Result")

_NEVER_ALLOWED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
# The maximum length of a text whose result `cached_if_short` caches.
_MAX_CACHED = 200
_MAX_WORD_LENGTH = 60
# The prefix of the name keys of deleted tags and custom fields. It sorts before a space, and all
# other name keys sort after a space.
DELETED_KEY = "\x01"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Whitespace, C1 controls, default ignorable characters of Unicode (zero width, format
# characters, variation selectors, fillers), and the blank braille pattern. For use in a character
# class of a regular expression.
INVISIBLE = (
    r"\s\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(rf"[{INVISIBLE}]*")
# Replaces a character that could not be read.
LOST = "\ufffd"
_COLUMN_SPACES = re.compile(rf"[{INVISIBLE}\x00-\x1f\x7f_-]+")
_PUNCTUATION = re.compile(r"^\W+|\W+$")
# The characters of Windows-1252 that Latin-1 does not have, as bytes.
_WINDOWS_1252 = {
    ord(character): byte
    for byte in range(0x80, 0xA0)
    if (character := bytes([byte]).decode("cp1252", "ignore"))
}


def cached_if_short(function: Callable[[str], Result]) -> Callable[[str], Result]:
    """Caches the results of a function for short texts, because clients choose the texts.

    A cell of a CSV file can have 1 MiB.
    """
    cached = lru_cache(4096)(function)

    @wraps(function)
    def call(text: str) -> Result:
        return cached(text) if len(text) <= _MAX_CACHED else function(text)

    return call


def caseless_key(text: str) -> str:
    """Returns a text for comparison without regard to case: Unicode NFC, case-folded."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def fold_case(text: str) -> str:
    """Returns a text for a search in it without regard to case, in which it keeps its length.

    Each character is replaced by its simple case folding (CaseFolding.txt of Unicode, C and S),
    except that a letter of ASCII is equal to no other character: the databases compare ASCII with
    functions of their own. Unlike `caseless_key`, ß is not ss, and the text is not normalized.
    """
    return text.lower() if text.isascii() else text.translate(_foldings())


def case_variants(folded: str) -> str:
    """Returns all characters with the same `fold_case` as a folded one."""
    return _variants().get(folded, folded)


@cache
def _foldings() -> dict[int, str]:
    # No later character of Unicode has a case.
    characters = map(chr, range(0x20000))
    pairs = [(each, _folding(each)) for each in characters if each != each.casefold()]
    return {ord(character): folded for character, folded in pairs if folded != character}


def _folding(character: str) -> str:
    found = (character.casefold(), character.lower())
    folded = next((each for each in found if len(each) == 1), character)
    return character if folded.isascii() and not character.isascii() else folded


@cache
def _variants() -> dict[str, str]:
    variants: dict[str, str] = {}
    for code, folded in _foldings().items():
        variants[folded] = variants.get(folded, folded) + chr(code)
    return variants


@cached_if_short
def column_key(name: str) -> str:
    """Returns the name of a column for comparison.

    It has no case, whitespace, invisible and control characters, `-` and `_`.
    """
    return _COLUMN_SPACES.sub("", caseless_key(name))


@cached_if_short
def repaired_encoding(text: str) -> str:
    """Returns a text in UTF-8 that a program read in a common encoding as it was, such as Ã© as é.

    Any other text is returned unchanged.
    """
    if not text.isascii():
        for encoding in ("latin-1", "mac_roman", "cp1251"):
            with suppress(UnicodeError):
                known = text.translate(_WINDOWS_1252) if encoding == "latin-1" else text
                # Some programs repeat the mistake.
                return repaired_encoding(known.encode(encoding).decode())
    return text


def word_key(word: str) -> str:
    """Returns the `column_key` of a word without the punctuation around it.

    A long text is not a word.
    """
    key = column_key(word)
    return _PUNCTUATION.sub("", key) if len(word) <= _MAX_WORD_LENGTH else key


def with_texts(value: Any, convert: Callable[[str, str], str], name: str = "") -> Any:
    """Returns a value of JSON with each text in it converted, except the names of members.

    `convert` gets a text and the name of the member that contains it.
    """
    if isinstance(value, str):
        return convert(value, name)
    if isinstance(value, list):
        return [with_texts(each, convert, name) for each in value]
    if isinstance(value, dict):
        return {name: with_texts(each, convert, name) for name, each in value.items()}
    return value


def has_control_characters(text: str, *, multiline: bool = False) -> bool:
    """Returns whether a text contains a control character that is not allowed.

    Tabs around single-line text are allowed, because they are trimmed later.
    """
    if text.isprintable():  # an order of magnitude faster, and true of nearly all text
        return False
    if multiline:
        return _NEVER_ALLOWED.search(text) is not None
    return _CONTROL.search(text.strip(" \t")) is not None


def json_name(name: str) -> str:
    """Returns the ProtoJSON name of a field: first_name is firstName."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def trim(text: str) -> str:
    """Removes surrounding whitespace. Returns "" for text without a visible character."""
    trimmed = text.strip()
    return "" if not trimmed.isascii() and _INVISIBLE.fullmatch(trimmed) else trimmed
