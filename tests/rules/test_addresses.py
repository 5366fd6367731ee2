"""Addresses to listen on and to connect to, and when plaintext is permitted."""

from __future__ import annotations

import pytest

from rosterd.server.config import SettingError, Settings
from rosterd.server.serving.options import check_plaintext
from rosterd.server.values.addresses import Address, parse_upstream

from ..cases import each

RISK = "ROSTER_DANGEROUSLY_IN_PLAINTEXT=true"


def test_address_is_formatted_as_host_and_port() -> None:
    assert [str(Address(host, 80)) for host in ("::1", "localhost")] == ["[::1]:80", "localhost:80"]


@each(
    ("text", "target", "count"),
    [
        ("[::1]:50051", "dns:///[::1]:50051", 1),
        ("dns:roster:50051", "dns:roster:50051", 1),
        ("dns://10.0.0.2/roster:50051", "dns://10.0.0.2/roster:50051", 1),
        ("ipv4:10.0.0.2:1,10.0.0.3:2", "ipv4:10.0.0.2:1,10.0.0.3:2", 2),
        ("ipv6:[::1]:1,[::2]:2", "ipv6:[::1]:1,[::2]:2", 2),
    ],
)
def test_upstream_is_one_host_name_or_several_addresses(text: str, target: str, count: int) -> None:
    upstream = parse_upstream(text)

    assert (upstream.target, len(upstream.addresses)) == (target, count)


def check(*hosts: str, risk: bool = False) -> None:
    settings = Settings({"dangerously_in_plaintext": str(risk)})
    addresses = [Address(host, 8080) for host in hosts]
    check_plaintext(settings, Settings.http_address, addresses, Settings.http_tls_certificate)


@each("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_plaintext_is_allowed_on_loopback(host: str) -> None:
    check(host)


@each("host", ["0.0.0.0", "::", "10.0.0.1", "roster", "localhost.example.com", "127.0.0.1.nip.io"])
def test_plaintext_to_other_machines_requires_a_setting(host: str) -> None:
    with pytest.raises(SettingError, match=RISK) as caught:
        check("127.0.0.1", host)

    assert host in str(caught.value)
    assert "ROSTER_HTTP_TLS_CERTIFICATE" in str(caught.value)
    check(host, risk=True)
