"""Tests which webhook URLs are accepted, and their normal form."""

from __future__ import annotations

from ipaddress import ip_network
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.features.webhooks.egress.urls import MAX_LENGTH, check_url
from rosterd.server.rpc.errors import ValidationError

from ...cases import each

NOT_PUBLIC = (
    "must have a public address; the operator of the server can allow others with"
    " ROSTER_WEBHOOK_ALLOW_NETS"
)
LOOPBACK = EgressPolicy([ip_network("127.0.0.0/8"), ip_network("::1/128")])


def error_of(url: str, egress_policy: EgressPolicy | None = None) -> tuple[str, str]:
    """Returns the error code and message for a URL."""
    with pytest.raises(ValidationError) as raised:
        check_url(url, egress_policy or EgressPolicy())
    (detail,) = raised.value.details
    assert detail.field == "url"
    return detail.code, detail.message


@each(
    ("url", "normal_form"),
    [
        ("https://example.com/hooks", "https://example.com/hooks"),
        ("HTTPS://Example.COM:443/Hooks", "https://example.com/Hooks"),
        ("https://example.com:8443/a/../b", "https://example.com:8443/b"),
        ("https://example.com?a=b+c%20d", "https://example.com/?a=b+c%20d"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("https://ex-am_ple.example/", "https://ex-am_ple.example/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://[2606:4700:4700:0::1111]:8443/", "https://[2606:4700:4700::1111]:8443/"),
        ("https://example.com/a@b:c?d=http://user@host", None),
    ],
)
def test_url_is_normalized(url: str, normal_form: str | None) -> None:
    assert check_url(url, EgressPolicy()) == (normal_form or url)


@each(
    ("url", "code"),
    [
        ("", "REQUIRED"),
        ("http://example.com/", "INVALID_VALUE"),
        ("//example.com/", "INVALID_VALUE"),
        ("https:/example.com", "INVALID_FORMAT"),
        ("https:///example.com", "INVALID_FORMAT"),
        ("https://", "INVALID_FORMAT"),
        ("https://:443/", "INVALID_FORMAT"),
        ("https://@example.com/", "INVALID_VALUE"),
        ("https://user:password@example.com/", "INVALID_VALUE"),
        ("https://example.com#", "INVALID_VALUE"),
        ("https://example.com:0/", "OUT_OF_RANGE"),
        ("https://example.com:65536/", "OUT_OF_RANGE"),
        ("https://example.com:/", "INVALID_FORMAT"),
        ("https://example.com:+80/", "INVALID_FORMAT"),
        ("https://example.com:８０/", "INVALID_FORMAT"),
        ("https://exa mple.com/", "INVALID_CHARACTER"),
        ("https://example.com/\r\nX-Evil: 1", "INVALID_CHARACTER"),
        ("https://example.com\\@evil.example/", "INVALID_CHARACTER"),
        ("https://example.com/\u202e", "INVALID_CHARACTER"),
        ("https://example.com/\ud800", "INVALID_CHARACTER"),
        ("https://exam%70le.com/", "INVALID_FORMAT"),
        ("https://example.com./", "INVALID_FORMAT"),
        ("https://example..com/", "INVALID_FORMAT"),
        ("https://-example.com/", "INVALID_FORMAT"),
        ("https://example.com,evil.example/", "INVALID_FORMAT"),
        ("https://example\uff0fcom/", "INVALID_FORMAT"),
        (f"https://{'a' * 64}.example/", "INVALID_FORMAT"),
        (f"https://{'a.' * 127}example/", "INVALID_FORMAT"),
        (f"https://{'ü' * 70}.example/", "INVALID_FORMAT"),
        ("https://[::1", "INVALID_FORMAT"),
        ("https://[v1.x]/", "INVALID_FORMAT"),
        ("https://[8.8.8.8]/", "INVALID_FORMAT"),
        ("https://8。8。8。8/", "INVALID_FORMAT"),
        ("https://134744072/", "INVALID_FORMAT"),
        ("https://010.8.8.8/", "INVALID_FORMAT"),
        ("https://example.0x8/", "INVALID_FORMAT"),
        ("https://[2606:4700::1%25eth0]/", "INVALID_FORMAT"),
    ],
)
def test_url_that_parsers_may_read_differently_is_rejected(url: str, code: str) -> None:
    assert error_of(url)[0] == code


@each(
    "host",
    [
        "localhost",
        "a.localhost",
        "printer.local",
        "db.internal",
        "nas.home.arpa",
        "localhost.localdomain",
        "intranet",
        "ℓocalhost",
    ],
)
def test_local_name_is_rejected(host: str) -> None:
    assert error_of(f"https://{host}/") == ("INVALID_VALUE", NOT_PUBLIC)


@each("host", ["localhost", "receiver", "db.internal", "127.0.0.1", "[::1]"])
def test_local_name_is_accepted_if_a_network_is_allowed(host: str) -> None:
    assert check_url(f"https://{host}/", LOOPBACK) == f"https://{host}/"


def test_address_outside_the_allowed_networks_is_rejected() -> None:
    assert error_of("https://10.0.0.1/", LOOPBACK) == ("INVALID_VALUE", NOT_PUBLIC)


parts = st.sampled_from(
    [
        *"@:/?#[]%\\.;,+-_~ \t\n\0",
        *("https://", "http://", "//", "user:", "127.0.0.1", "127.1", "0x7f", "0177", "2130706433"),
        *("::1", "::ffff:", "%2e", "%40", "%00", ":443", ":0", ":99999", "localhost", "example"),
        *(
            ".com",
            "１２７",
            "。",
            "．①",
            "／",
            "＠",
            "：",
            "ｌｏｃａｌ",
            "ß",
            "xn--",
            "ü",
            "\u200d",
        ),
    ]
)


@given(
    st.lists(st.one_of(parts, st.text(max_size=4)), max_size=10).map(
        lambda texts: "https://" + "".join(texts)
    )
)
@example("https://example.com/%zz?%")
def test_accepted_url_is_ascii_and_two_parsers_agree_on_it(url: str) -> None:
    try:
        normal_form = check_url(url, EgressPolicy())
    except ValidationError:
        return

    parsed, other = URL(normal_form), urlsplit(normal_form)
    assert normal_form.isascii()
    assert len(normal_form) <= MAX_LENGTH
    assert check_url(normal_form, EgressPolicy()) == normal_form == str(parsed)
    assert (parsed.raw_host, parsed.port) == (other.hostname, other.port or 443)
    assert (other.username, other.password, other.fragment) == (None, None, "")
