"""What a template's merge tags are, and what stands in their place for one subscriber.

A tag is `{{email}}`, `{{firstName}}`, `{{lastName}}` or `{{customFields.key}}`,
any of them with a fallback of its own: `{{firstName | fallback: "friend"}}`.
Everything else, in braces or not, is the template's own text and stays as it is.

One regular expression finds a tag whole, so a template is read from left to
right once, and what was put in is never read again. Templates come from anyone
who can call: the time that it takes grows with the template's length, and no
more, because of how the expression is made (see `_tag`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from ..errors import invalid

# The most bytes that are put into a subject and a body together: half of what a gRPC
# client takes in an answer by default.
MAX_PUT_IN = 2_000_000
# What Unicode breaks a line at, whatever the language (UAX #14: BK, CR, LF, NL).
_BREAKS = r"\n\v\f\r\x85\u2028\u2029"
# A key is at most as long as custom fields' keys are.
_NAME = r"(?:(?P<word>email|firstName|lastName)|customFields\.(?P<key>[a-z0-9_]{1,64}+))"
_BLANKS = r"[ \t]*+"
# What an editor writes for a character: &amp; or &#38; or &#x26;. Longer numbers
# are no characters, and int() raises at more than 4,300 digits.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Values(NamedTuple):
    """What is known of a subscriber.

    `custom` holds its values by key; `fallbacks` has every custom field of the
    account, by key, with what stands in for a missing value, which may be "".
    """

    email: str
    first_name: str
    last_name: str
    custom: Mapping[str, str | float | bool]
    fallbacks: Mapping[str, str]


class Rendered(NamedTuple):
    """A template with its tags filled in, and the keys that the account does not have."""

    subject: str
    body: str
    unknown: list[str]


def render(subject: str, body: str, values: Values) -> Rendered:
    """Returns the template as the subscriber gets it.

    In the place of a tag stands the first of these that there is: the value, the
    tag's fallback (written as "", it is there: nothing is put in), the field's
    fallback, nothing. An empty text is no value; 0 and false are values. A key
    that the account has no field for is put in as nothing, even if the tag has a
    fallback, so that a misspelt key shows; it is listed once, in the order of
    first appearance, the subject's before the body's.

    Whatever is put into the body is HTML-escaped. Whatever is put into the subject
    is not, but its line breaks and other control characters, each run of them,
    become one space: a value must not be able to begin a new header line.

    Raises ValidationError if more is put in than `MAX_PUT_IN`.
    """
    unknown: dict[str, None] = {}
    filling = _Filling()
    return Rendered(
        _IN_SUBJECT.sub(
            lambda tag: filling.put("subject", _CONTROLS.sub(" ", _text(tag, values, unknown))),
            subject,
        ),
        _IN_BODY.sub(
            lambda tag: filling.put("body", html.escape(_text(tag, values, unknown))), body
        ),
        list(unknown),
    )


class _Filling:
    """Counts what is put into a template.

    A template of a few characters a tag, and a value of a thousand, would otherwise
    come to hundreds of times the template.
    """

    def __init__(self) -> None:
        self._room = MAX_PUT_IN

    def put(self, part: str, text: str) -> str:
        """Returns the text. Raises ValidationError for the part once too much was put in."""
        self._room -= len(text.encode())
        if self._room < 0:
            raise invalid(part, "TOO_LONG", f"must not expand by more than {MAX_PUT_IN:,} bytes")
        return text


def _tag(quote: str) -> re.Pattern[str]:
    r"""Returns the expression for a tag whose fallback stands between two of these quotes.

    It is linear since every piece but the fallback's text has one way to match
    and starts right after a `{{` of its own. The text is atomic: it ends at the
    first quote that has no odd number of backslashes before it, or the tag is
    none. The quote that opens a text comes after a colon or a blank, never after
    a backslash, so a text ends at the next tag's opening quote at the latest: no
    character is in more than one text for each kind of quote.
    """
    # Lazy in an atomic group, and not a possessive group of alternatives, which
    # would read better: Python before 3.11.5 matches those wrongly where one fails
    # half-way (gh-100061, gh-106052), and a greedy group takes 114 bytes of memory
    # for each backslash. Backslashes are counted only from the first of a run.
    text = rf"(?>[^{_BREAKS}]*?(?<!\\)(?:\\\\)*+(?P=quote))"
    fallback = rf"\|{_BLANKS}fallback:{_BLANKS}(?P<quoted>(?P<quote>{quote}){text}){_BLANKS}"
    return re.compile(rf"\{{\{{{_BLANKS}{_NAME}{_BLANKS}(?:{fallback})?\}}\}}")


_IN_SUBJECT = _tag('"')
# Editors of rich text write a quote as a reference to it.
_IN_BODY = _tag('"|&quot;')


def _text(tag: re.Match[str], values: Values, unknown: dict[str, None]) -> str:
    """Returns what stands in the tag's place, as plain text, and notes an unknown key."""
    key = tag["key"]
    if key is None:
        value, fallback = _built_in(tag["word"], values), ""
    elif key in values.fallbacks:
        value, fallback = _written(values.custom.get(key, "")), values.fallbacks[key]
    else:
        unknown[key] = None
        return ""
    if value:
        return value
    return fallback if tag["quoted"] is None else _unquoted(tag["quoted"])


def _built_in(word: str, values: Values) -> str:
    if word == "email":
        return values.email
    return values.first_name if word == "firstName" else values.last_name


def _written(value: str | float | bool) -> str:
    """Returns a value of a custom field as text; a text or a date word for word.

    A number is written out without an exponent, in the fewest digits that make
    the same number again: 5, 0.1, 1000000000000000000000.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    # Adding 0.0 takes the sign off a negative zero.
    return format(Decimal(repr(value + 0.0).removesuffix(".0")), "f")


def _unquoted(quoted: str) -> str:
    r"""Returns the text between the quotes.

    `\"` is a quote and `\\` a backslash; a backslash before anything else is one
    too. If the quotes are references, whatever is between them is read as HTML.
    """
    if quoted.startswith("&"):
        quoted = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), quoted)
    return re.sub(r'\\(["\\])', r"\1", quoted[1:-1])
