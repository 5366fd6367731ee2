"""What a webhook's URL may be, and the one form in which it is kept.

Readers of URLs disagree about strange ones, and whoever checks with one reader and
connects with another can be led astray. So only a plain shape is taken, the URL is
read by the reader that the client itself uses, every rule is applied to what came of
that, and only its normal form is kept and called.
"""

from __future__ import annotations

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from yarl import URL

from ...errors import ValidationError, invalid
from .policy import BLOCKED, Address, EgressPolicy

MAX_LENGTH = 2_048
MAX_HOST_LENGTH = 253

# ASCII that can be seen, without the backslash.
_PLAIN = re.compile(r"[!-\[\]-~]*")
# The authority has neither user nor percent-encoding, and a port in ASCII digits.
_SHAPE = re.compile(
    r"https?://(?P<host>[^/?@:%\[\]]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:[/?].*)?",
    re.IGNORECASE,
)
_LABEL = r"(?!-)[a-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# A host whose last label is a number is read as an IPv4 address by some: 127.1, 0x7f000001.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.IGNORECASE)
# Names of this machine, and of the network that it stands in.
_LOCAL = re.compile(r"(?:.*\.)?(?:localhost|local|localdomain|internal|home\.arpa)|[^.]*")


def check_url(url: str, egress_policy: EgressPolicy) -> str:
    """Returns the normal form of a URL that events may be sent to. Raises ValidationError.

    Whether a name leads to a blocked address shows only when it is connected to.
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
    # Controls, invisible and unassigned characters, and blanks of any kind.
    if any(character == "\\" or unicodedata.category(character)[0] in "CZ" for character in url):
        raise invalid(
            "url", "INVALID_CHARACTER", "must have no blanks, backslashes or control characters"
        )


def _check_parts(url: str, egress_policy: EgressPolicy) -> None:
    scheme = url.partition(":")[0].lower()
    if scheme != "https" and not (scheme == "http" and egress_policy.http):
        raise invalid("url", "INVALID_VALUE", "must begin with https://")
    if "#" in url:
        raise invalid("url", "INVALID_VALUE", "must have no fragment")
    if "@" in re.split(r"[/?]", url.partition("://")[2], maxsplit=1)[0]:
        raise invalid("url", "INVALID_VALUE", "must have no user name and no password")


def _parsed(url: str) -> URL:
    try:
        return URL(url)
    except ValueError as error:
        raise _malformed() from error


def _check_host(given: str, host: str, egress_policy: EgressPolicy) -> None:
    address = _literal(given, host)
    if address is not None:
        if not egress_policy.allows(address):
            raise invalid("url", "INVALID_VALUE", BLOCKED)
        return
    if _NAME.fullmatch(host) is None or len(host) > MAX_HOST_LENGTH:
        raise _malformed()
    if _LOCAL.fullmatch(host) and not egress_policy.is_wider:
        raise invalid("url", "INVALID_VALUE", BLOCKED)


def _literal(given: str, host: str) -> Address | None:
    """Returns the address that a host is; None for a name.

    An address has to be given as such, in its usual form: digits of other scripts
    and other notations are how a check is passed by.
    """
    try:
        if given.startswith("["):
            return IPv6Address(host)
        if _NUMERIC.fullmatch(host):
            return IPv4Address(given)
    except AddressValueError as error:
        raise _malformed() from error
    return None


def _malformed() -> ValidationError:
    return invalid("url", "INVALID_FORMAT", "must be a URL such as https://example.com/hooks")
