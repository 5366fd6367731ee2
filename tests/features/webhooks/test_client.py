"""Tests the HTTP client with receivers that respond correctly."""

from __future__ import annotations

import asyncio
import logging
import ssl
from importlib.metadata import version
from ipaddress import ip_network

import pytest
from aiohttp import ClientConnectorError, ClientSession

from rosterd.server.features.webhooks.egress.client import MAX_STORED, Client
from rosterd.server.features.webhooks.egress.connector import EgressConnector
from rosterd.server.features.webhooks.egress.policy import BlockedAddress, EgressPolicy
from rosterd.server.features.webhooks.egress.resolver import SystemLookup

from .raw_receivers import (
    EGRESS_POLICY,
    PRIVATE,
    PUBLIC,
    Connection,
    lookup_returning,
    ok,
    post_once,
    responding,
    running_receiver,
)


def test_request_has_the_exact_body_and_headers() -> None:
    body = b'{"id": "evt_1",  "name": "\xc3\xbc"}' + b" " * (3 << 20)

    outcome, receiver = post_once(ok, body=body, headers={"webhook-id": "evt_1"})

    head, _, sent = receiver.requests[0].partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    assert (outcome.status, outcome.error, outcome.body) == (200, "", b"ok")
    assert sent == body
    assert first == "POST /hook HTTP/1.1"
    assert dict(line.split(": ", 1) for line in rest) == {
        "Host": f"{PUBLIC}:{receiver.port}",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(body)),
        "Content-Type": "application/json",
        "User-Agent": f"Roster-Webhooks/{version('roster')}",
        "webhook-id": "evt_1",
    }


@pytest.mark.parametrize(
    ("head", "status", "error", "after"),
    [
        ("HTTP/1.1 204 No Content", 204, "", None),
        ("HTTP/1.0 202 Accepted", 202, "", None),
        ("HTTP/1.1 503 X\nContent-Length: 0\nRetry-After: 7", 503, "HTTP 503", 7),
        ("HTTP/1.1 500 X\nContent-Length: 0\nRetry-After: x", 500, "HTTP 500", None),
    ],
)
def test_outcome_has_status_error_and_retry_after(
    head: str, status: int, error: str, after: float | None
) -> None:
    outcome, _ = post_once(responding(head))

    assert outcome[:3] == (status, error, after)


def test_outcome_has_the_beginning_of_the_body() -> None:
    body = bytes(range(256)) * 32

    outcome, _ = post_once(responding(f"HTTP/1.1 500 X\nContent-Length: {len(body)}", body))

    assert outcome.body == body[:MAX_STORED]


async def test_requests_to_one_receiver_share_a_connection_and_no_cookies() -> None:
    async def setting_cookie(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(
                b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
            )

    lookup = lookup_returning([PUBLIC])
    async with (
        running_receiver(setting_cookie) as receiver,
        Client(EGRESS_POLICY, lookup=lookup) as client,
    ):
        for _ in range(2):
            await client.post(f"http://example.com:{receiver.port}/", b"{}", {})

        assert (receiver.connections, len(receiver.requests)) == (1, 2)
        assert b"cookie" not in receiver.requests[1].lower()


@pytest.mark.parametrize(
    ("addresses", "error"),
    [(["127.0.0.3", PUBLIC], ""), (["127.0.0.3", "127.0.0.4"], "connection refused")],
)
async def test_next_address_is_tried_if_a_connection_is_refused(
    addresses: list[str], error: str
) -> None:
    policy = EgressPolicy([ip_network("127.0.0.0/8")], http=True)
    async with (
        running_receiver(ok) as receiver,
        Client(policy, lookup=lookup_returning(addresses)) as client,
    ):
        outcome = await client.post(f"http://example.com:{receiver.port}/", b"{}", {})

    assert outcome.error == error


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_receiver(ok) as proxy, running_receiver(ok) as receiver:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://{PUBLIC}:{proxy.port}")
        async with Client(EGRESS_POLICY) as client:
            assert (await client.post(receiver.url, b"{}", {})).error == ""

        assert proxy.connections == 0


async def test_cancellation_is_raised() -> None:
    received = asyncio.Event()

    async def hang(connection: Connection) -> None:
        await connection.request()
        received.set()
        await connection.wait()

    async with running_receiver(hang) as receiver, Client(EGRESS_POLICY) as client:
        sending = asyncio.create_task(client.post(receiver.url, b"{}", {}))
        await received.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending


@pytest.mark.parametrize("host", [PRIVATE, f"[::ffff:{PRIVATE}]", "0.0.0.0"])
async def test_address_in_a_url_is_checked_when_the_socket_is_created(host: str) -> None:
    """Without the check of the URL before."""
    tls = ssl.create_default_context()
    async with (
        running_receiver(ok, host=PRIVATE) as receiver,
        ClientSession(connector=EgressConnector(EGRESS_POLICY, SystemLookup(), tls)) as session,
    ):
        with pytest.raises(ClientConnectorError) as raised:
            await session.post(f"http://{host}:{receiver.port}/")

        assert isinstance(raised.value.os_error, BlockedAddress)
        assert receiver.connections == 0


async def test_log_of_a_blocked_address_has_neither_path_nor_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Client(EgressPolicy(), lookup=lookup_returning(["10.0.0.1"])) as client:
        with caplog.at_level(logging.WARNING):
            await client.post("https://example.com/hidden-part?token=hidden-part", b"{}", {})
            await client.post("https://10.0.0.1/hidden-part?token=hidden-part", b"{}", {})

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert vars(caplog.records[0])["host"] == "example.com"
    assert vars(caplog.records[0])["address"] == "10.0.0.1"
    assert "hidden-part" not in str([vars(record) for record in caplog.records])
