"""Checks and normalizes the URLs of webhooks.

URL parsers disagree about unusual URLs, so checking with one parser and connecting with another
is unsafe. Only a simple syntax is accepted. The URL is parsed by the parser of the HTTP client,
the rules apply to the parsed URL, and only its normal form is stored and called.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from yarl import URL

from ....config import Settings
from ....rpc.errors import ValidationError, invalid
from .policy import Address, EgressPolicy

MAX_LENGTH = 2_048
MAX_HOST_LENGTH = 253
_NOT_PUBLIC = (
    "must have a public address; the operator of the server can allow others with"
    f" {Settings.webhook_allow_nets.environment}"
)
_NO_TLS = (
    "must start with https://, unless the operator of the server allows http:// with"
    f" {Settings.webhook_allow_http.environment}=true"
)

# Visible ASCII except the backslash.
_PLAIN = re.compile(r"[!-\[\]-~]*")
# The authority has no user information and no percent-encoding; the port has ASCII digits.
_SHAPE = re.compile(
    r"https?://(?P<host>[^/?@:%\[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:[/?].*)?",
    re.IGNORECASE,
)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# Some parsers read a host whose last label is a number as an IPv4 address: 127.1, 0x7f000001.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
# Names of the local host and the local network.
_LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|localdomain|internal|home\.arpa)|[^.]*")


def check_url(url: str, egress_policy: EgressPolicy) -> str:
    """Returns the normal form of a URL. Raises ValidationError if it is not allowed.

    The addresses of a host name are checked later, when it is connected to.
    """
    if not url:
        raise invalid("url", "REQUIRED", "is required")
    _check_length(url)
    _check_characters(url)
    _check_parts(url, egress_policy)
    match = _SHAPE.fullmatch(url)
    if match is None:
        raise _malformed()
    if match["port"] and not 1 <= int(match["port"]) <= 65_535:
        raise invalid("url", "OUT_OF_RANGE", "must have a port from 1 to 65535")
    parsed = _parsed(url)
    _check_host(match["host"], parsed.raw_host or "", egress_policy)
    normal = str(parsed)
    _check_length(normal)
    return normal


def _check_length(url: str) -> None:
    if len(url) > MAX_LENGTH:
        raise invalid("url", "TOO_LONG", f"must have at most {MAX_LENGTH} characters")


def _check_characters(url: str) -> None:
    if _PLAIN.fullmatch(url):
        return
    # Control, format and unassigned characters, and separators.
    if any(character == "\\" or unicodedata.category(character)[0] in "CZ" for character in url):
        raise invalid(
            "url", "INVALID_CHARACTER", "must have no whitespace, backslashes or control characters"
        )


def _check_parts(url: str, egress_policy: EgressPolicy) -> None:
    scheme = url.partition(":")[0].lower()
    if scheme != "https" and not (scheme == "http" and egress_policy.http):
        raise invalid("url", "INVALID_VALUE", _NO_TLS)
    if "#" in url:
        raise invalid("url", "INVALID_VALUE", "must have no fragment")
    if "@" in re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]:
        raise invalid("url", "INVALID_VALUE", "must have no user name or password")


def _parsed(url: str) -> URL:
    try:
        return URL(url)
    except ValueError as error:
        raise _malformed() from error


def _check_host(text: str, host: str, egress_policy: EgressPolicy) -> None:
    address = _literal(text, host)
    if address is not None:
        if not egress_policy.allows(address):
            raise invalid("url", "INVALID_VALUE", _NOT_PUBLIC)
        return
    if _NAME.fullmatch(host) is None or len(host) > MAX_HOST_LENGTH:
        raise _malformed()
    if _LOCAL.fullmatch(host) and not egress_policy.is_wider:
        raise invalid("url", "INVALID_VALUE", _NOT_PUBLIC)


def _literal(text: str, host: str) -> Address | None:
    """Returns the address if the host is one; None for a name.

    `text` is the host before parsing. Only the standard notation is accepted: digits of other
    scripts and other notations could bypass the check.
    """
    try:
        if text.startswith("["):
            return IPv6Address(host)
        if _NUMERIC.fullmatch(host):
            return IPv4Address(text)
    except AddressValueError as error:
        raise _malformed() from error
    return None


def _malformed() -> ValidationError:
    return invalid("url", "INVALID_FORMAT", "must be a URL such as https://example.com/hooks")
