"""Thousands of idle connections, and connections beyond the limit."""

from __future__ import annotations

import asyncio
import json
import re
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Account
from ..http_gateway.client import Client, ReceivedResponse
from ..http_gateway.serving import OPTIONS, gateway_to, run
from ..http_gateway.stream_service import message
from ..processes import Service, start
from .test_http import address_of

IDLE_CONNECTIONS = 2_000
# Upper bound of the memory of an idle connection.
MAX_KIB_PER_CONNECTION = 20


@pytest.fixture
def idle_connections(account: Account) -> Iterator[tuple[int, int]]:
    """Opens idle connections. Yields the memory of the service before and after, in KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < IDLE_CONNECTIONS + 500:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(IDLE_CONNECTIONS + 500, hard), hard))
    host, _, port = address_of(account).rpartition(":")
    with ExitStack() as stack:
        before = memory_of(account.service)
        for _ in range(IDLE_CONNECTIONS):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=20))
        account.ok("ListTags")  # accepted after all of them
        yield before, memory_of(account.service)


def memory_of(service: Service) -> int:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{service.process.pid}/status").read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
def test_two_thousand_idle_connections_stay_open(
    account: Account, idle_connections: tuple[int, int]
) -> None:
    before, after = idle_connections

    for number in range(20):
        account.ok("CreateTag", name=f"tag{number}")
    assert account.ok("ListTags")["total"] == 20
    assert after - before < IDLE_CONNECTIONS * MAX_KIB_PER_CONNECTION
    assert account.service.traces() == []


async def unary(request: Any, context: Any) -> Any:
    return message("Total", total=1)


async def send_request(client: Client) -> ReceivedResponse:
    await client.begin("POST", "/unary")
    await client.send(b"{}")
    await client.finish()
    return await client.response()


def test_connection_over_the_limit_gets_503_and_is_closed() -> None:
    options = replace(OPTIONS, max_connections=2)

    async def main() -> None:
        async with gateway_to("in-process", options=options, Unary=unary) as runner:
            open_clients = [await Client.to(runner) for _ in range(2)]
            assert [(await send_request(client)).status for client in open_clients] == [200, 200]

            refused = await Client.to(runner)
            got = await refused.response()
            assert (got.status, got.headers["connection"]) == (503, "close")
            assert json.loads(got.body)["error"]["code"] == "Unavailable"
            assert json.loads(got.body)["error"]["requestId"] == got.headers["x-request-id"]
            assert await refused.is_closed()

            assert [(await send_request(client)).status for client in open_clients] == [200, 200]
            open_clients[0].disconnect()
            while len(runner.server.connections) == 2:  # noqa: ASYNC110 - aiohttp has no event for it
                await asyncio.sleep(0.01)
            assert (await send_request(await Client.to(runner))).status == 200

    run(main())


# Limits the file descriptors of a service to 300, of which half are for connections.
FEW_DESCRIPTORS = """
import resource
from rosterd.server.cli import main
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
main()
"""


def test_service_with_few_descriptors_rejects_further_connections(tmp_path: Path) -> None:
    service = start(tmp_path, code=FEW_DESCRIPTORS)
    try:
        host, _, port = service.http.rpartition(":")
        with ExitStack() as stack:
            clients = [
                stack.enter_context(socket.create_connection((host, int(port)), timeout=20))
                for _ in range(160)
            ]
            responses = [received(client) for client in clients[150:]]
    finally:
        # Writes the lines of the log that are left.
        code = service.stop()

    assert [response.partition(b"\r\n")[0] for response in responses] == [
        b"HTTP/1.1 503 Service Unavailable"
    ] * 10
    log = service.log.read_text()
    assert (code, log.count("rejected without a call"), service.traces()) == (0, 10, [])


def received(client: socket.socket) -> bytes:
    """Returns the bytes that a client receives until its connection is closed."""
    with client.makefile("rb") as response:
        return response.read()
