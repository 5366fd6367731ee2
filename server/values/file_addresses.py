"""Parses email addresses in files, without the characters that programs write around them."""

from __future__ import annotations

import re
from typing import NamedTuple

from .emails import Email, parse_email
from .texts import INVISIBLE

_MAX_LENGTH = 1_000
# The maximum number of nested wrappers.
_MAX_DEPTH = 8
_EDGES = re.compile(rf"^[{INVISIBLE}]++|(?<![{INVISIBLE};,])[{INVISIBLE};,]++$")
_QUOTES = {
    *("()", "[]", '""', "''", "``"),
    *("\u201c\u201d", "\u201e\u201c", "\u2018\u2019", "\u00ab\u00bb"),
}
_MAIL_TO = "mailto:"
# Replaces a character that could not be read, so that the address is another one.
_LOST = "\ufffd"


class Unwrapped(NamedTuple):
    """An address without the characters around it, and the display name before it."""

    address: str
    name: str = ""


def parse_file_email(text: str) -> Email | None:
    """Returns the address in a text, or None if it is not a single valid address."""
    email = parse_email(text) or parse_email(unwrap(text).address)
    return None if email is not None and _LOST in email.address else email


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
