"""Parses, normalizes and compares email addresses.

email-validator decides what is valid: strict syntax, no DNS lookup, special-use domains
allowed. It takes about 66 microseconds per address, so short and plain ASCII addresses are
checked by one regular expression instead. A property-based test compares the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

import email_validator
import orjson

from .texts import INVISIBLE, with_texts

# Accepts .test, .example, .local and .invalid: people try a service with such addresses.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

MAX_LENGTH = 254
# Including surrounding whitespace.
MAX_INPUT_LENGTH = 320

# Possessive, because it is matched against every address. Labels with two hyphens in a row are left
# to the library, because they can be A-labels (xn--).
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_LABEL = r"[A-Za-z0-9]++(?:-[A-Za-z0-9]++)*+"
_PLAIN = re.compile(rf"{_ATOM}(?:\.{_ATOM})*+@(?:{_LABEL}\.)++[A-Za-z]++")
# No part of an address of at most this length can be too long.
_MAX_PLAIN_LENGTH = 64

# The prefix of an A-label, which encodes a Unicode label (RFC 5890).
_A_LABEL = "xn--"
# An address in other text, such as a filter, in which backslashes can precede characters. The
# asterisk follows a prefix.
_IN_TEXT = re.compile(r'(?<![^\s"(),:;<>@])([^\s"(),:;<>@]++@[^\s"(),:;<>@*]++)(\*?)')
# What programs and files add to an address, and is no part of it.
_IGNORED = re.compile(rf"[\\{INVISIBLE}]")
_QUOTES = "'\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb"
# A value of a filter, and the values that it compares with addresses.
_QUOTED = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_VALUE = re.compile(rf"""{_QUOTED}|(?!(?:AND|OR|NOT)\b)[^\s()"'-][^\s()"']*""")
_COMPARED = re.compile(
    rf"(?<![\w.])(email\s*(?:!=|[:=])\s*)({_QUOTED}|\((?:[^()]|\([^()]*\))*\)|[^\s()]+)"
)


class Email(NamedTuple):
    """An email address as it was sent, without surrounding whitespace, and its comparison key."""

    address: str
    key: str


def trim(text: str) -> str:
    """Removes surrounding whitespace except line breaks, which make an address invalid."""
    return text.strip(" \t\u00a0")


def parse_email(text: str) -> Email | None:
    """Returns the address, or None if the text is not a single valid address.

    The key is the local part in Unicode NFC and lower case (not case-folded: ß
    and ss are different mailboxes) and the domain in IDNA's ASCII form.
    """
    address = trim(text)
    if len(address) > MAX_LENGTH or len(text) > MAX_INPUT_LENGTH:
        return None
    if len(address) <= _MAX_PLAIN_LENGTH and _PLAIN.fullmatch(address):
        return Email(address, address.lower())
    # Most cells of a file are no addresses, and the library takes long to find that out.
    return _parse_any(address) if "@" in address else None


def comparison_key(text: str) -> str:
    """Returns the comparison key of an address, or the text itself if it is not an address."""
    parsed = parse_email(text)
    return text if parsed is None else parsed.key


def _parse_any(address: str) -> Email | None:
    try:
        parsed = email_validator.validate_email(address, check_deliverability=False, strict=True)
    except email_validator.EmailNotValidError:
        return None
    local = unicodedata.normalize("NFC", parsed.local_part).lower()
    return Email(address, f"{unicodedata.normalize('NFC', local)}@{parsed.ascii_domain.lower()}")


def unicode_key(key: str) -> str | None:
    """Returns the key with its domain in Unicode, or None if the domain has no A-labels."""
    if _A_LABEL not in key:
        return None
    local, _, domain = key.rpartition("@")
    labels = ".".join(
        label.removeprefix(_A_LABEL).encode().decode("punycode")
        if label.startswith(_A_LABEL)
        else label
        for label in domain.split(".")
    )
    return f"{local}@{labels}" if labels != domain else None


def unicode_keys(keys: Sequence[str]) -> list[str | None]:
    """Returns the `unicode_key` of each key."""
    # One search, because nearly no key has an A-label.
    if _A_LABEL not in "\n".join(keys):
        return [None] * len(keys)
    return [unicode_key(key) for key in keys]


def key_prefix(text: str) -> str:
    """Returns a prefix of an address, normalized for comparison with keys.

    An incomplete label cannot be encoded to ASCII by IDNA. The domain is therefore mapped
    to the form of `unicode_key`, with the mappings that IDNA applies before encoding. For
    an ASCII domain this is the form of the key itself.
    """
    local, at, domain = text.partition("@")
    mapped = unicodedata.normalize("NFKC", domain).lower().replace("\u3002", ".")
    key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", local).lower())
    return f"{key}{at}{unicodedata.normalize('NFC', mapped)}"


def text_key(text: str) -> str:
    """Returns the comparison key of an address in other text, which is not validated."""
    key = key_prefix(text)
    try:
        return unicode_key(key) or key
    except UnicodeError:  # An invalid A-label.
        return key


def addresses_in(text: str) -> Iterator[str]:
    """Yields the `text_key` of each possible address in a text.

    Also of those that are percent-encoded or in wide letters.
    """
    texts = {text}
    if "%" in text or not text.isascii():
        texts.add(unicodedata.normalize("NFKC", unquote(text)))
    for found in {each[1] for text in texts for each in _IN_TEXT.finditer(text)}:
        for _, candidate in _candidates(found):
            yield text_key(candidate)


def without_address(text: str, address: str, *, is_search: bool = False) -> str:
    """Replaces an address, given by `text_key`, in a text, and its parts in a filter or search.

    A part of the domain only is kept, because it names no person.
    """
    if is_search:
        return "erased" if _is_part(text, address) else text

    def replacement(found: re.Match[str]) -> str:
        for before, candidate in _candidates(found[1]):
            if text_key(candidate) == address:
                return f"{before}erased"
        return found[0]

    def value_replacement(found: re.Match[str]) -> str:
        value, quote = found[0], found[0][0] if found[0][0] in "\"'" else ""
        return f"{quote}erased{quote}" if _is_part(value.strip(quote), address) else value

    def compared_replacement(found: re.Match[str]) -> str:
        return found[1] + _VALUE.sub(value_replacement, found[2])

    # The searches are slow, and most texts contain neither.
    if "@" in text:
        text = _IN_TEXT.sub(replacement, text)
    return _COMPARED.sub(compared_replacement, text) if "email" in text else text


def _is_part(text: str, address: str) -> bool:
    key = text_key(text.replace("\\", "").rstrip("*"))
    return key in address and key not in address.partition("@")[2]


def without_addresses(text: str) -> str:
    """Replaces every possible address in a text."""
    return _IN_TEXT.sub("[address]", text) if "@" in text else text


def json_without_addresses(text: str, addresses: Collection[str]) -> str:
    """Returns JSON with `without_address` applied to each text in it, except names of members.

    A member `q` is a search.
    """

    def convert(text: str, name: str) -> str:
        for address in addresses:
            text = without_address(text, address, is_search=name == "q")
        return text

    value = orjson.loads(text)
    changed = with_texts(value, convert)
    return text if changed == value else orjson.dumps(changed).decode()


def _candidates(text: str) -> Iterator[tuple[str, str]]:
    """Yields the possible addresses in a text without whitespace, each with the text before it.

    The text up to an equals sign can be a part of the address, or the name of a field.
    """
    for start in sorted({0, text.find("=") + 1, text.rfind("=") + 1}):
        candidate = _IGNORED.sub("", text[start:])
        yield text[:start], candidate.strip(_QUOTES).rstrip(f".{_QUOTES}")
