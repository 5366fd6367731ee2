"""Webhook receivers that hang, respond slowly or endlessly, violate HTTP or TLS, or redirect."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rosterd.server.features.webhooks.egress import connector
from rosterd.server.features.webhooks.egress.client import MAX_STORED, Client
from rosterd.server.features.webhooks.egress.outcome import Outcome

from ..features.webhooks.raw_receivers import (
    EGRESS_POLICY,
    PRIVATE,
    PUBLIC,
    Connection,
    Handler,
    Receiver,
    hang,
    lookup_returning,
    ok,
    post_once,
    responding,
    run,
    running_receiver,
)
from ..stubs.authority import Authority

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
# Upper bound of what a receiver can send before the client disconnects: the socket buffers of
# both ends and one read.
MAX_BUFFERED = 16 << 20


@pytest.fixture(autouse=True)
def assert_no_warnings(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Asserts that the failure of a receiver is in the outcome only, not in the log."""
    yield
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def send_slow_body(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        await connection.send(b"a")
        await asyncio.sleep(0.01)


async def withhold_last_byte(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
    await connection.wait()


@pytest.mark.parametrize(
    ("handle", "status"),
    [
        (hang, None),
        (send_slow_body, 200),
        (withhold_last_byte, 200),
    ],
)
def test_slow_receiver_times_out(handle: Handler, status: int | None) -> None:
    outcome, receiver = post_once(handle, seconds=1)

    assert outcome[:2] == (status, "timed out")
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 200 OK\nContent-Length: 10000000000",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked",
        "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Encoding: gzip",
    ],
)
def test_endless_response_is_truncated_and_its_status_counts(head: str) -> None:
    async def endless(connection: Connection) -> None:
        await connection.request()
        await connection.send(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        await connection.flood(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    outcome, receiver = post_once(endless)

    assert outcome[:2] == (200, "")
    assert len(outcome.body) == MAX_STORED
    assert receiver.sent < MAX_BUFFERED


@pytest.mark.parametrize("status", [302, 308])
@pytest.mark.parametrize("host", [PUBLIC, PRIVATE])
def test_redirect_is_not_followed(status: int, host: str) -> None:
    async def main() -> tuple[Outcome, Receiver]:
        async with running_receiver(ok, host=host) as canary:
            target = f"http://{host}:{canary.port}/"
            head = f"HTTP/1.1 {status} Over there\nLocation: {target}\nContent-Length: 0"
            async with (
                running_receiver(responding(head)) as receiver,
                Client(EGRESS_POLICY) as client,
            ):
                return await client.post(receiver.url, b"{}", {}), canary

    outcome, canary = run(main())

    assert outcome[:2] == (status, "redirected")
    assert canary.connections == 0


async def reset_immediately(connection: Connection) -> None:
    reset(connection)


async def reset_after_the_request(connection: Connection) -> None:
    await connection.request()
    reset(connection)


async def reset_in_body(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok")
    await asyncio.sleep(0.05)
    reset(connection)


async def close_without_response(connection: Connection) -> None:
    await connection.request()


async def close_in_body(connection: Connection) -> None:
    await connection.request()
    await connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")


def reset(connection: Connection) -> None:
    """Closes a connection with a TCP reset."""
    raw = connection.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.writer.transport.abort()


@pytest.mark.parametrize(
    ("handle", "status"),
    [
        (reset_immediately, None),
        (reset_after_the_request, None),
        (reset_in_body, 200),
        (close_without_response, None),
        (close_in_body, 200),
    ],
)
def test_interrupted_response_is_a_failure_regardless_of_its_status(
    handle: Handler, status: int | None
) -> None:
    outcome, _ = post_once(handle)

    assert outcome[:2] == (status, "connection lost")


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n" * 2 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: \x00\r\n\r\n",
        b"\x16\x03\x01\x00\x00",
    ],
)
def test_response_that_is_not_http_is_reported(response: bytes) -> None:
    async def handle(connection: Connection) -> None:
        await connection.request()
        await connection.send(response)
        await connection.wait()

    outcome, _ = post_once(handle)

    assert outcome == (None, "not HTTP", None, outcome.milliseconds, b"")


@pytest.mark.parametrize(
    ("first", "flood"),
    [
        (b"HTTP/1.1 200 ", b"O" * 4096),
        (b"HTTP/1.1 200 OK\r\nX: ", b"a" * 4096),
        (b"HTTP/1.1 200 OK\r\n", b"a" * 4096),
        (b"HTTP/1.1 200 OK\r\n", b"A: b\r\n" * 500),
        (b"HTTP/1.1 200 OK\r\n", b"Set-Cookie: a=b\r\n" * 500),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 200),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 200),
    ],
    ids=["reason", "value", "name", "headers", "cookies", "continue", "hints"],
)
def test_flood_before_the_body_closes_the_connection(first: bytes, flood: bytes) -> None:
    async def handle(connection: Connection) -> None:
        await connection.request()
        await connection.send(first)
        await connection.flood(flood)

    outcome, receiver = post_once(handle)

    assert outcome.status is None
    assert outcome.error in ("not HTTP", "connection lost")
    assert receiver.sent < MAX_BUFFERED


@pytest.mark.parametrize(
    "unsolicited",
    [
        b"HTTP/1.1 500 Unsolicited\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Unsolicited\r\nContent-Length: 1000000\r\n\r\n",
        OK * 2000,
        b"x",
    ],
    ids=["one", "long", "many", "other"],
)
def test_unsolicited_response_closes_the_connection_and_is_ignored(
    unsolicited: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> tuple[list[Outcome], Receiver]:
        disconnected = asyncio.Event()

        async def handle(connection: Connection) -> None:
            await connection.request()
            await connection.send(OK)
            if connection.receiver.connections == 1:
                await asyncio.sleep(0.05)
                with suppress(OSError):
                    await connection.send(unsolicited)
                    await connection.wait()
                disconnected.set()

        async with running_receiver(handle) as receiver, Client(EGRESS_POLICY) as client:
            first = await client.post(receiver.url, b"{}", {})
            await disconnected.wait()
            return [first, await client.post(receiver.url, b"{}", {})], receiver

    monkeypatch.setattr(connector, "KEEPALIVE_SECONDS", 600)
    outcomes, receiver = run(main())

    assert [outcome[:2] for outcome in outcomes] == [(200, ""), (200, "")]
    assert receiver.connections == 2


# TLS with one trusted authority, configured by SSL_CERT_FILE


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(autouse=True)
def trust_authority(
    authority: Authority, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    path.write_bytes(authority.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))


def server_context(pair: tuple[bytes, bytes], folder: Path) -> ssl.SSLContext:
    """Returns the TLS context of a receiver with a certificate."""
    for name, data in zip(("certificate", "key"), pair, strict=True):
        (folder / name).write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


def post_over_tls(
    handle: Handler, tls: ssl.SSLContext | None, *, host: str = PUBLIC, seconds: float = 15
) -> Outcome:
    async def main() -> Outcome:
        lookup = lookup_returning([PUBLIC])
        async with (
            running_receiver(handle, tls=tls) as receiver,
            Client(EGRESS_POLICY, lookup=lookup, seconds=seconds) as client,
        ):
            return await client.post(f"https://{host}:{receiver.port}/", b"{}", {})

    return run(main())


def test_receiver_with_a_trusted_certificate_gets_its_event(
    authority: Authority, tmp_path: Path
) -> None:
    outcome = post_over_tls(ok, server_context(authority.certify("receiver"), tmp_path))

    assert outcome[:2] == (200, "")


def test_certificate_for_another_host_is_rejected(authority: Authority, tmp_path: Path) -> None:
    tls = server_context(authority.certify("receiver"), tmp_path)

    assert post_over_tls(ok, tls, host="hooks.example")[:2] == (None, "TLS failed")


def test_certificate_of_an_unknown_authority_is_rejected(tmp_path: Path) -> None:
    tls = server_context(Authority().certify("receiver"), tmp_path)

    assert post_over_tls(ok, tls)[:2] == (None, "TLS failed")


def test_expired_certificate_is_rejected(authority: Authority, tmp_path: Path) -> None:
    tls = server_context(authority.certify("receiver", days=-0.5), tmp_path)

    assert post_over_tls(ok, tls)[:2] == (None, "TLS failed")
