"""Parses email addresses in files, without the characters that programs write around them."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import NamedTuple
from urllib.parse import unquote

from .emails import Email, parse_email
from .texts import INVISIBLE, LOST

_MAX_LENGTH = 1_000
# The most addresses in a text. More are a list that is not read, so that a row of it fails.
MAX_ADDRESSES = 20
# The maximum number of nested wrappers.
_MAX_DEPTH = 8
_EDGES = re.compile(rf"^[{INVISIBLE}]++|(?<![{INVISIBLE};,])[{INVISIBLE};,]++$")
_QUOTES = {
    *("()", "[]", '""', "''", "``"),
    *("\u201c\u201d", "\u201e\u201c", "\u2018\u2019", "\u00ab\u00bb"),
}
_MAIL_TO = "mailto:"
# What is written in place of an at sign, and a local part in quotation marks before it.
_AT = re.compile(r"(?<!\s)\s*+(?:@+|[\[(]at[\])])\s*", re.IGNORECASE)
_QUOTED_LOCAL_PART = re.compile(r'"([^\s"@]+)"@')
_INVISIBLE = re.compile(rf"(?!\s)[{INVISIBLE}]")
# The characters that are between addresses in a text are no part of one here.
_PART = r"""[^\s"(),:;<>@\[\]|\u3001\u2013\u2014]"""
# Only at the start of a part, as a search from each of its characters takes quadratic time.
_ADDRESS = re.compile(rf"(?<!{_PART}){_PART}++@{_PART}++")
_AROUND_ADDRESS = ".'`*!{}"
# What ends a domain: the start of the next address, or of the parameters of a link.
_AFTER_DOMAIN = re.compile(r"(@[^\s/?@]++)[/?]")


class Unwrapped(NamedTuple):
    """An address without the characters around it, and the display name before it."""

    address: str
    name: str = ""


def parse_file_email(text: str) -> Email | None:
    """Returns the address in a text, or None if it is not a single valid address."""
    email = parse_email(text) or parse_email(unwrap(text).address)
    # With a character that is lost, the address is another one.
    return None if email is not None and LOST in email.address else email


def all_addresses(text: str) -> list[str]:
    """Returns the text if it is an address, and all other addresses that it can mean.

    An opt-out holds for each of them. Others are in a list or a sentence, or are spelled with
    percent-encoding, wide letters or such characters as HTML has.
    """
    parsed = parse_file_email(text)
    if parsed is not None and "%" not in text and text.isascii() and text.count("@") == 1:
        return [text]
    addresses = {} if parsed is None else {parsed.key: text}
    if len(text) <= _MAX_LENGTH:
        plain = unicodedata.normalize("NFKC", html.unescape(unquote(text)))
        plain = _QUOTED_LOCAL_PART.sub(r"\1@", _AT.sub("@", _INVISIBLE.sub("", plain)))
        plain = _AFTER_DOMAIN.sub(r"\1 ", plain)
        for found in _ADDRESS.findall(plain):
            address = found.strip(_AROUND_ADDRESS)
            if (email := parse_file_email(address)) is not None:
                addresses.setdefault(email.key, address)
    found = [*addresses.values()]
    return found if len(found) <= MAX_ADDRESSES else found[: parsed is not None]


def unwrap(text: str) -> Unwrapped:
    """Returns an address without its wrappers.

    These are blanks, invisible characters, quotation marks, also after an equals sign, brackets,
    `mailto:` with its parameters, angle brackets with the display name before them, and semicolons
    and commas at the end.
    """
    address, name = text.strip(), ""
    if len(address) > _MAX_LENGTH:
        return Unwrapped(address)
    for _ in range(_MAX_DEPTH):
        before = address
        address = _without_quotes(_EDGES.sub("", address))
        if address[:2] == '="':
            address = address[1:]
        if address[: len(_MAIL_TO)].lower() == _MAIL_TO:
            address = address[len(_MAIL_TO) :].partition("?")[0]
        head, opened, inner = address.removesuffix(">").partition("<")
        if opened and address.endswith(">") and not (head and "<" in inner):
            address, name = inner, name or head
        if address == before:
            break
    return Unwrapped(address, _without_quotes(name.strip()).strip())


def _without_quotes(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] + text[-1] in _QUOTES else text
