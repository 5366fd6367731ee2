"""Email addresses: what is one, and when two are the same.

The judge is email-validator: strict syntax, no look-up, special-use domains
allowed. It takes 66 microseconds an address, so a plain ASCII address whose
validity one regular expression can settle does not go through it; a property
test holds the two to the same answers.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import email_validator

# Addresses at .test, .example, .local and .invalid are what people try a service with.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

MAX_LENGTH = 254
# With the blanks around it.
MAX_GIVEN_LENGTH = 320
MAX_LOCAL_LENGTH = 64

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
# A label of the domain; the third and fourth character may not both be hyphens,
# since such names mean something (xn--) that only the library can judge.
_LABEL = r"(?!..--)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_PLAIN = re.compile(
    rf"(?=.{{1,{MAX_LOCAL_LENGTH}}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+(?!..--)"
    r"(?:[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z])|[A-Za-z])"
)

# What a label of a domain begins with if it stands for one in Unicode.
_A_LABEL = "xn--"


class Email(NamedTuple):
    """An address as it was given, less surrounding blanks, and as it is compared."""

    given: str
    key: str


def trim(text: str) -> str:
    """Takes off surrounding blanks. Line breaks stay, and make the address invalid."""
    return text.strip(" \t\u00a0")


def parse_email(text: str) -> Email | None:
    """Returns the address, or None if the text is not one valid address.

    The key is the local part in Unicode NFC and lower case (not case-folded: ß
    and ss are different mailboxes) and the domain in IDNA's ASCII form.
    """
    given = trim(text)
    if len(given) > MAX_LENGTH or len(text) > MAX_GIVEN_LENGTH:
        return None
    if _PLAIN.fullmatch(given):
        return Email(given, given.lower())
    return _parse_any(given)


def comparison_key(text: str) -> str:
    """Returns the form in which an address is compared; text that is no address is its own."""
    address = parse_email(text)
    return text if address is None else address.key


def _parse_any(given: str) -> Email | None:
    try:
        address = email_validator.validate_email(given, check_deliverability=False, strict=True)
    except email_validator.EmailNotValidError:
        return None
    local = unicodedata.normalize("NFC", address.local_part).lower()
    return Email(given, f"{unicodedata.normalize('NFC', local)}@{address.ascii_domain.lower()}")


def unicode_key(key: str) -> str | None:
    """Returns the key of an address with the domain in Unicode, or None if that is the same."""
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


def key_prefix(text: str) -> str:
    """Returns the beginning of an address in the form in which keys are compared.

    An unfinished label has no form in IDNA's ASCII. So a domain is brought to the form of
    `unicode_key`, by the mappings that IDNA makes before it encodes; in ASCII that is the
    form of the key itself.
    """
    local, at, domain = text.partition("@")
    mapped = unicodedata.normalize("NFKC", domain).lower().replace("\u3002", ".")
    key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", local).lower())
    return f"{key}{at}{unicodedata.normalize('NFC', mapped)}"
