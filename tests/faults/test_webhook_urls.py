"""Webhook URLs of internal addresses are rejected at creation and before each request."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

import pytest

from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.outcome import Outcome
from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.features.webhooks.egress.urls import check_url
from rosterd.server.rpc.errors import ValidationError

from ..features.webhooks.raw_receivers import (
    EGRESS_POLICY,
    PRIVATE,
    PUBLIC,
    Receiver,
    lookup_returning,
    ok,
    responding,
    run,
    running_receiver,
)

# All other restrictions are lifted, so that only the address can be rejected.
PERMISSIVE_POLICY = EgressPolicy(http=True)

# At least one common URL parser resolves each of these to this machine.
LOOPBACK_HOSTS = [
    "127.0.0.1",
    "127.0.0.1.",
    "0177.0.0.1",
    "017700000001",
    "0x7f.0.0.1",
    "0x7F000001",
    "2130706433",
    "0",
    "0.0.0.0",
    "１２７.0.0.1",
    "①②⑦.⓪.⓪.①",
    "%31%32%37.0.0.1",
    "user@127.0.0.1",
    "8.8.8.8@127.0.0.1",
    "8.8.8.8\\@127.0.0.1",
    "127.0.0.1\\@8.8.8.8",
    "localhost",
    "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
    "a.localhost",
    "[::1]",
    "[::]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[2001:0:808:808::80ff:fffe]",
    "[fe80::1%lo]",
    "[127.0.0.1]",
]
METADATA_HOSTS = [
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "[fd00:ec2::254]",
    "[fe80::a9fe:a9fe]",
    "[::ffff:169.254.169.254]",
    "metadata.google.internal",
]


@pytest.fixture(autouse=True)
def without_ca_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skips loading the system's CA certificates, which would be slower than the tests."""
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)


@pytest.mark.parametrize("host", [*LOOPBACK_HOSTS, *METADATA_HOSTS])
def test_internal_url_is_rejected_at_creation_and_never_called(host: str) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            canary = await stack.enter_async_context(running_receiver(ok))
            canary_ipv6 = await stack.enter_async_context(
                running_receiver(ok, host="::1", port=canary.port)
            )
            client = await stack.enter_async_context(Client(PERMISSIVE_POLICY))
            url = f"http://{host}:{canary.port}/hook"
            with pytest.raises(ValidationError) as raised:
                check_url(url, PERMISSIVE_POLICY)
            assert [detail.field for detail in raised.value.details] == ["url"]
            assert is_blocked(await client.post(url, b"{}", {}))
            assert (canary.connections, canary_ipv6.connections) == (0, 0)

    run(main())


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["fe80::1%lo"],
        ["169.254.169.254"],
        ["fd00:ec2::254"],
        ["8.8.8.8", "127.0.0.1"],
        ["8.8.8.8", "8.8.4.4", "1.1.1.1", "::1"],
    ],
    ids="+".join,
)
def test_host_name_with_an_internal_address_is_blocked(addresses: list[str]) -> None:
    async def main() -> tuple[Outcome, Receiver]:
        async with (
            running_receiver(ok) as canary,
            Client(PERMISSIVE_POLICY, lookup=lookup_returning(addresses)) as client,
        ):
            url = check_url(f"http://hooks.example:{canary.port}/", PERMISSIVE_POLICY)
            return await client.post(url, b"{}", {}), canary

    outcome, canary = run(main())

    assert is_blocked(outcome)
    assert canary.connections == 0


def test_every_dns_lookup_is_checked() -> None:
    async def main() -> tuple[list[Outcome], Receiver, Receiver]:
        closing_response = responding("HTTP/1.1 200 OK\nConnection: close\nContent-Length: 0")
        async with AsyncExitStack() as stack:
            receiver = await stack.enter_async_context(running_receiver(closing_response))
            canary = await stack.enter_async_context(
                running_receiver(ok, host=PRIVATE, port=receiver.port)
            )
            lookup = lookup_returning([PUBLIC], [PRIVATE], [PUBLIC, PRIVATE], [PUBLIC])
            client = await stack.enter_async_context(Client(EGRESS_POLICY, lookup=lookup))
            url = f"http://hooks.example:{receiver.port}/"
            outcomes = [await client.post(url, b"{}", {}) for _ in range(4)]
            return outcomes, receiver, canary

    outcomes, receiver, canary = run(main())

    assert [outcome.error for outcome in outcomes] == ["", "blocked address", "blocked address", ""]
    assert (receiver.connections, canary.connections) == (2, 0)


def test_reused_connection_keeps_its_checked_address() -> None:
    async def main() -> tuple[list[Outcome], Receiver, Receiver]:
        async with AsyncExitStack() as stack:
            receiver = await stack.enter_async_context(running_receiver(ok))
            canary = await stack.enter_async_context(
                running_receiver(ok, host=PRIVATE, port=receiver.port)
            )
            lookup = lookup_returning([PUBLIC], [PRIVATE])
            client = await stack.enter_async_context(Client(EGRESS_POLICY, lookup=lookup))
            url = f"http://hooks.example:{receiver.port}/"
            outcomes = [await client.post(url, b"{}", {}) for _ in range(2)]
            return outcomes, receiver, canary

    outcomes, receiver, canary = run(main())

    assert [outcome.error for outcome in outcomes] == ["", ""]
    assert (receiver.connections, canary.connections) == (1, 0)


def is_blocked(outcome: Outcome) -> bool:
    return outcome[:3] == (None, "blocked address", None) and outcome.body == b""
