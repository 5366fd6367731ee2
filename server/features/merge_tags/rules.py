"""Renders the merge tags of a template for one subscriber.

A tag is `{{email}}`, a field that clients set such as `{{firstName}}`, `{{customFields.key}}`,
`{{confirmUrl}}` or `{{unsubscribeUrl}}`. Each can have a fallback:
`{{firstName | fallback: "friend"}}`. A tag with another name of letters, digits, dots and
underscores is unknown. All other text, in braces or not, is unchanged.

A regular expression matches a whole tag, so a template is scanned once and inserted values are
not scanned. Templates are untrusted input: the time is linear in the length of the template,
because of how the expression is built (see `_tag`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, NamedTuple

from ...rpc.errors import PublicUrlNotSet, invalid
from ...values.suggestions import KnownNames
from ..subscribers.fields import PROFILE

# The maximum bytes of all values inserted into a subject and a body: half of the default limit of
# a response in gRPC clients.
MAX_INSERTED = 2_000_000
# The mandatory line breaks of Unicode (UAX #14: BK, CR, LF, NL).
_BREAKS = r"\n\v\f\r\x85\u2028\u2029"
_URLS = ("confirmUrl", "unsubscribeUrl")
_WORDS = ("email", *(field.json_name for field in PROFILE.values()), *_URLS)
_CUSTOM_FIELDS = "customFields."
# A key is limited to the maximum length of custom field keys.
_KEY = re.compile(r"[a-z0-9_]{1,64}")
# A name has a letter or a digit.
_NAME = r"(?P<name>[._]*+[^\W_][\w.]*+)"
# The maximum number of suggestions. Finding them takes time in proportion to it.
_MAX_SUGGESTIONS = 20
_SPACES = r"[ \t]*+"
# A character reference of HTML: &amp; or &#38; or &#x26;. Longer numbers are not characters, and
# int() raises for more than 4,300 digits.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class Values(NamedTuple):
    """The values of a subscriber.

    `built_in` are the values of tags other than custom fields, by name, without URLs if links
    cannot be created. `custom` are its custom field values by key. `fallbacks` are the fallbacks of
    all custom fields of the account by key; "" is none.
    """

    built_in: Mapping[str, Any]
    custom: Mapping[str, str | float | bool]
    fallbacks: Mapping[str, str]


class Rendered(NamedTuple):
    """A rendered template, the unknown keys and names, and the nearest known names of some."""

    subject: str
    body: str
    unknown: list[str]
    suggestions: dict[str, str]


def render(subject: str, body: str, values: Values) -> Rendered:
    """Renders a template for a subscriber.

    A tag is replaced by its value, or else the fallback of the tag, even if that is "", or else
    the fallback of the field. Empty text is not a value; 0 and false are. An unknown key is
    replaced by nothing, even if the tag has a fallback, so that a misspelled key is noticed.
    Another unknown name is replaced by the fallback of the tag, or else by nothing.
    Unknown keys and names are listed once, in order of appearance, the subject first.

    Values in the body are HTML-escaped. In the subject, each run of line breaks and other
    control characters becomes one space, so that a value cannot start another header line.

    Raises ValidationError if the inserted values are larger than `MAX_INSERTED`, or
    PublicUrlNotSet for the tag of a URL without one.
    """
    # Full names by listed name.
    unknown: dict[str, str] = {}
    insertion = _Insertion()
    rendered_subject = _IN_SUBJECT.sub(
        lambda tag: insertion.checked("subject", _CONTROLS.sub(" ", _text(tag, values, unknown))),
        subject,
    )
    rendered_body = _IN_BODY.sub(
        lambda tag: insertion.checked("body", html.escape(_text(tag, values, unknown))), body
    )
    suggestions = _suggestions(unknown, values.fallbacks)
    return Rendered(rendered_subject, rendered_body, list(unknown), suggestions)


def link_tags(subject: str, body: str) -> set[str]:
    """Returns the tags of URLs in a template: confirmUrl, unsubscribeUrl."""
    if "Url" not in subject and "Url" not in body:
        return set()
    tags = (*_IN_SUBJECT.finditer(subject), *_IN_BODY.finditer(body))
    return {tag["name"] for tag in tags} & set(_URLS)


class _Insertion:
    """Limits the size of the values that are inserted into a template.

    Otherwise short tags with long values could expand a template by a factor of hundreds.
    """

    def __init__(self) -> None:
        self._remaining = MAX_INSERTED

    def checked(self, field: str, text: str) -> str:
        """Returns the text. Raises ValidationError for the field if the limit is exceeded."""
        self._remaining -= len(text.encode())
        if self._remaining < 0:
            raise invalid(field, "TOO_LONG", f"must not expand by more than {MAX_INSERTED:,} bytes")
        return text


def _tag(quote: str) -> re.Pattern[str]:
    r"""Returns the expression for a tag whose fallback is in this kind of quotes.

    Matching is linear. Every part except the text of the fallback has only one way to match
    and starts right after a `{{`. The text is atomic: it ends at the first quote that is not
    escaped, or the tag does not match. An opening quote follows a colon or whitespace, never a
    backslash. So a text ends at the opening quote of the next tag at the latest, and no
    character is scanned in more than one text per kind of quote.
    """
    # A lazy match in an atomic group. A possessive group of alternatives would be easier to
    # read, but Python before 3.11.5 matches it incorrectly (gh-100061, gh-106052). A greedy
    # group takes 114 bytes per backslash. The lookbehind counts backslashes only from the first
    # of a run.
    text = rf"(?>[^{_BREAKS}]*?(?<!\\)(?:\\\\)*+(?P=quote))"
    fallback = rf"\|{_SPACES}fallback:{_SPACES}(?P<quoted>(?P<quote>{quote}){text}){_SPACES}"
    return re.compile(rf"\{{\{{{_SPACES}{_NAME}{_SPACES}(?:{fallback})?\}}\}}")


_IN_SUBJECT = _tag('"')
# Rich text editors write a quote as a character reference.
_IN_BODY = _tag('"|&quot;')


def _text(tag: re.Match[str], values: Values, unknown: dict[str, str]) -> str:
    """Returns the replacement of a tag as plain text, and records an unknown key or name."""
    name = tag["name"]
    key = name.removeprefix(_CUSTOM_FIELDS)
    fallback = ""
    if name in _WORDS:
        built_in = values.built_in.get(name)
        if name in _URLS and not built_in:
            raise PublicUrlNotSet
        value = "" if built_in is None else _value_text(built_in)
    elif key != name and key in values.fallbacks:
        value, fallback = _value_text(values.custom.get(key, "")), values.fallbacks[key]
    elif key != name and _KEY.fullmatch(key):
        unknown.setdefault(key, name)
        return ""
    else:
        unknown.setdefault(name, name)
        value = ""
    if value:
        return value
    return fallback if tag["quoted"] is None else _unquoted(tag["quoted"])


def _suggestions(unknown: Mapping[str, str], keys: Iterable[str]) -> dict[str, str]:
    """Returns the nearest known names of the first unknown ones, if there are similar ones."""
    if not unknown:
        return {}
    known = KnownNames([*(_CUSTOM_FIELDS + key for key in keys), *_WORDS])
    nearest = {
        listed: known.nearest(name) for listed, name in islice(unknown.items(), _MAX_SUGGESTIONS)
    }
    return {listed: name for listed, name in nearest.items() if name is not None}


def _value_text(value: str | float | bool) -> str:
    """Returns a value of a custom field as text.

    A number has no exponent and the fewest digits that convert back to the same number: 5,
    0.1, 1000000000000000000000.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    # Adding 0.0 removes the sign of a negative zero.
    return format(Decimal(repr(value + 0.0).removesuffix(".0")), "f")


def _unquoted(quoted: str) -> str:
    r"""Returns the text between the quotes.

    `\"` is a quote and `\\` a backslash. Any other backslash is unchanged. If the quotes are
    character references, the text between them is HTML.
    """
    if quoted.startswith("&"):
        quoted = _REFERENCE.sub(lambda reference: html.unescape(reference[0]), quoted)
    return re.sub(r'\\(["\\])', r"\1", quoted[1:-1])
