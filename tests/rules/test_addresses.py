"""Where to listen and whom to call, and what may go there without TLS."""

from __future__ import annotations

import pytest

from server.addresses import Address, check_plaintext, parse_address, parse_upstream
from server.config import SettingError

RISK = "ROSTER_DANGEROUSLY_IN_PLAINTEXT=true"


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        ("localhost:0", Address("localhost", 0)),
        ("0.0.0.0:65535", Address("0.0.0.0", 65_535)),
        ("[::1]:8080", Address("::1", 8080)),
    ],
)
def test_address_is_read_and_written_as_host_and_port(text: str, address: Address) -> None:
    assert parse_address("http_address", text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", "8080", ":8080", "localhost", "localhost:", "localhost:x", "localhost:65536", "::1:80"],
)
def test_malformed_address_is_refused_with_the_name_of_its_setting(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_GRPC_ADDRESS"):
        parse_address("grpc_address", text)


@pytest.mark.parametrize(
    ("text", "target", "count"),
    [
        ("127.0.0.1:50051", "dns:///127.0.0.1:50051", 1),
        ("[::1]:50051", "dns:///[::1]:50051", 1),
        ("dns:roster:50051", "dns:roster:50051", 1),
        ("dns:///roster:50051", "dns:///roster:50051", 1),
        ("dns://10.0.0.2/roster:50051", "dns://10.0.0.2/roster:50051", 1),
        ("ipv4:10.0.0.2:1,10.0.0.3:2", "ipv4:10.0.0.2:1,10.0.0.3:2", 2),
        ("ipv6:[::1]:1,[::2]:2", "ipv6:[::1]:1,[::2]:2", 2),
    ],
)
def test_upstream_is_one_name_or_several_addresses(text: str, target: str, count: int) -> None:
    upstream = parse_upstream(text)

    assert (upstream.target, len(upstream.addresses)) == (target, count)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "roster",
        "roster:0",
        "dns:///",
        "dns:///roster",
        "http://roster:50051",
        "xds:///roster:1",
        "roster:1,roster:2",
        "ipv4:10.0.0.2:1,",
    ],
)
def test_malformed_upstream_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="ROSTER_UPSTREAM must be"):
        parse_upstream(text)


def allow(*hosts: str, risk: bool = False) -> None:
    addresses = [Address(host, 8080) for host in hosts]
    check_plaintext("http_address", addresses, "http_tls_certificate", risk=risk)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_plaintext_is_allowed_on_loopback(host: str) -> None:
    allow(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "roster", "localhost.example.com", "127.0.0.1.nip.io"]
)
def test_plaintext_beyond_this_machine_takes_a_setting_that_names_the_risk(host: str) -> None:
    with pytest.raises(SettingError, match=RISK) as refused:
        allow("127.0.0.1", host)

    assert host in str(refused.value)
    assert "ROSTER_HTTP_TLS_CERTIFICATE" in str(refused.value)
    allow(host, risk=True)
