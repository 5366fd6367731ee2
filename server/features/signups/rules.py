"""Rejects names that mail programs show as links, and recognizes spellings of one mailbox.

Anyone can sign up any address. Without these rules, a confirmation mail that addresses the person
by name could carry the link of a spammer, and a person could get a mail for each spelling.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ...rpc.errors import Detail, ValidationError
from ...values.texts import json_name
from ..subscribers.rules import check_profile

# Gmail ignores dots, and a plus sign with the text after it. Other providers may not: there, two
# spellings can be the mailboxes of two people, who both can sign up.
GMAIL_DOMAINS = ("gmail.com", "googlemail.com")
# A URL, an IP address, or a link of Markdown or HTML.
_LINK = re.compile(
    r"(?i):/|//|\b(?:https?|ftp|mailto|tel|sms|data|javascript):\S|\bwww\d*\.|\bhref\b|\]\s*\("
    r"|(?:\d+\.){3}\d"
)
_LABEL = r"[^\s./?#:@\[\]()]+"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.)+(?P<last>{_LABEL})(?P<path>\.?[/?#]|:\d)?")
# Initials or titles before a name, such as J.Kim and Dr.Weber. Some names are top-level domains.
_TITLE = r"[^\W\d_]|dr|fr|frau|herr|hr|jr|ma|mlle|mme|mr|mrs|ms|mx|pr|prof|sr|sra|st|ste"
_PERSON = re.compile(rf"(?:(?i:{_TITLE})\.)+[^\W\d_]{{2,}}")
# The punctuation that has a meaning in the expressions above.
_KEPT = frozenset("-_./?#:@[]()")


def check_signup_names(profile: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the names of a sign-up. Raises ValidationError if one is not allowed."""
    check_profile(profile)
    faults = [
        Detail(json_name(name), "NAME_NOT_ALLOWED", "must not contain a URL or a domain name")
        for name, text in profile.items()
        if isinstance(text, str) and has_link(text)
    ]
    if faults:
        raise ValidationError(faults)
    return profile


def gmail_user(email_key: str) -> str | None:
    """Returns the user of a Gmail address, which is equal for all spellings; None for others."""
    local, _, domain = email_key.rpartition("@")
    return local.partition("+")[0].replace(".", "") if domain in GMAIL_DOMAINS else None


def has_link(name: str) -> bool:
    """Whether mail programs could show a part of a name as a link."""
    text = "".join(map(_simplified, unicodedata.normalize("NFKC", name)))
    return _LINK.search(text) is not None or any(map(_is_domain, _DOMAIN.finditer(text)))


def _simplified(char: str) -> str:
    """Removes invisible characters, and replaces punctuation that is not part of links."""
    if char == "\u3002":  # a full stop, which IDNA reads as a dot
        return "."
    category = unicodedata.category(char)
    if category == "Cf":  # invisible
        return ""
    return char if category[0] in "LMN" or char in _KEPT else " "


def _is_domain(match: re.Match[str]) -> bool:
    last = match["last"]
    if not match["path"] and last.istitle() and _PERSON.fullmatch(match[0]):
        return False
    return _ace(last.lower()) in _top_level_domains()


def _ace(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"


@cache
def _top_level_domains() -> frozenset[str]:
    """Returns https://data.iana.org/TLD/tlds-alpha-by-domain.txt in lower case."""
    return frozenset((files(__package__) / "top_level_domains.txt").read_text("ascii").split())
