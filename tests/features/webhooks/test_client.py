"""Tests the HTTP client with receivers that respond correctly."""

from __future__ import annotations

import asyncio
import logging
import socket
from importlib.metadata import version
from ipaddress import ip_network

import pytest

from rosterd.server.features.webhooks.egress.client import MAX_STORED, Client
from rosterd.server.features.webhooks.egress.policy import EgressPolicy

from .raw_receivers import (
    EGRESS_POLICY,
    PUBLIC,
    Connection,
    lookup_returning,
    ok,
    post_once,
    responding,
    run,
    running_receiver,
)


def test_request_has_the_exact_body_and_headers() -> None:
    body = b'{"id": "evt_1",  "name": "\xc3\xbc"}'

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


def test_body_of_several_mebibytes_is_sent() -> None:
    body = b"x" * (3 << 20)

    outcome, receiver = post_once(ok, body=body)

    assert outcome.error == ""
    assert receiver.requests[0].endswith(body)


@pytest.mark.parametrize(
    ("head", "status", "error", "after"),
    [
        ("HTTP/1.1 204 No Content", 204, "", None),
        ("HTTP/1.0 202 Accepted", 202, "", None),
        ("HTTP/1.1 410 Gone\nContent-Length: 0", 410, "answered 410", None),
        ("HTTP/1.1 503 X\nContent-Length: 0\nRetry-After: 7", 503, "answered 503", 7),
        ("HTTP/1.1 500 X\nContent-Length: 0\nRetry-After: x", 500, "answered 500", None),
    ],
)
def test_outcome_has_status_error_and_retry_after(
    head: str, status: int, error: str, after: float | None
) -> None:
    outcome, _ = post_once(responding(head))

    assert outcome[:3] == (status, error, after)


def test_interim_responses_are_skipped() -> None:
    hints = "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\n"

    outcome, _ = post_once(responding(f"{hints}HTTP/1.1 200 OK\nContent-Length: 0"))

    assert outcome[:2] == (200, "")


def test_outcome_has_the_beginning_of_the_body() -> None:
    body = bytes(range(256)) * 32

    outcome, _ = post_once(responding(f"HTTP/1.1 500 X\nContent-Length: {len(body)}", body))

    assert outcome.body == body[:MAX_STORED]


def test_requests_to_one_receiver_share_a_connection() -> None:
    async def main() -> tuple[int, int]:
        async with running_receiver(ok) as receiver, Client(EGRESS_POLICY) as client:
            for _ in range(5):
                assert (await client.post(receiver.url, b"{}", {})).error == ""
            return receiver.connections, len(receiver.requests)

    assert run(main()) == (1, 5)


def test_cookies_are_not_kept() -> None:
    async def setting_cookie(connection: Connection) -> None:
        while True:
            await connection.request()
            await connection.send(
                b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
            )

    async def main() -> list[bytes]:
        lookup = lookup_returning([PUBLIC])
        async with (
            running_receiver(setting_cookie) as receiver,
            Client(EGRESS_POLICY, lookup=lookup) as client,
        ):
            for _ in range(2):
                await client.post(f"http://example.com:{receiver.port}/", b"{}", {})
            return receiver.requests

    requests = run(main())

    assert len(requests) == 2
    assert b"cookie" not in requests[1].lower()


def test_name_is_resolved_by_the_system() -> None:
    async def main() -> str:
        policy = EgressPolicy([ip_network("127.0.0.0/8"), ip_network("::1/128")], http=True)
        async with running_receiver(ok) as receiver, Client(policy) as client:
            return (await client.post(f"http://localhost:{receiver.port}/", b"{}", {})).error

    assert run(main()) == ""


@pytest.mark.parametrize(
    ("addresses", "error"),
    [(["127.0.0.3", PUBLIC], ""), (["127.0.0.3", "127.0.0.4"], "connection refused")],
)
def test_next_address_is_tried_if_a_connection_is_refused(addresses: list[str], error: str) -> None:
    async def main() -> str:
        policy = EgressPolicy([ip_network("127.0.0.0/8")], http=True)
        async with (
            running_receiver(ok) as receiver,
            Client(policy, lookup=lookup_returning(addresses)) as client,
        ):
            return (await client.post(f"http://example.com:{receiver.port}/", b"{}", {})).error

    assert run(main()) == error


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> tuple[str, int]:
        async with running_receiver(ok) as proxy, running_receiver(ok) as receiver:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, f"http://{PUBLIC}:{proxy.port}")
            async with Client(EGRESS_POLICY) as client:
                return (await client.post(receiver.url, b"{}", {})).error, proxy.connections

    assert run(main()) == ("", 0)


def test_unused_port_is_connection_refused() -> None:
    async def main() -> str:
        with socket.socket() as unused:
            unused.bind((PUBLIC, 0))
            url = f"http://{PUBLIC}:{unused.getsockname()[1]}/"
            async with Client(EGRESS_POLICY) as client:
                return (await client.post(url, b"{}", {})).error

    assert run(main()) == "connection refused"


def test_unknown_name_is_no_such_host() -> None:
    async def main() -> str:
        async with Client(EGRESS_POLICY) as client:
            return (await client.post("http://no-such-host.invalid/", b"{}", {})).error

    assert run(main()) == "no such host"


def test_cancellation_is_raised() -> None:
    async def main() -> None:
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

    run(main())


def test_stored_url_that_is_no_longer_allowed_is_rejected() -> None:
    async def main() -> str:
        async with running_receiver(ok) as receiver, Client(EgressPolicy()) as client:
            error = (await client.post(receiver.url, b"{}", {})).error
            assert receiver.connections == 0
            return error

    assert run(main()) == "blocked address"


def test_log_of_a_blocked_address_has_neither_path_nor_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def main() -> None:
        async with Client(EgressPolicy(), lookup=lookup_returning(["10.0.0.1"])) as client:
            await client.post("https://example.com/secret?token=secret", b"{}", {})
            await client.post("https://10.0.0.1/secret?token=secret", b"{}", {})

    with caplog.at_level(logging.WARNING):
        run(main())

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert vars(caplog.records[0])["host"] == "example.com"
    assert vars(caplog.records[0])["address"] == "10.0.0.1"
    assert "secret" not in str([vars(record) for record in caplog.records])
