"""Kills and stops servers and gateways repeatedly under load.

ROSTER_KILL_SECONDS sets the duration. The default is a few seconds.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from grpc import StatusCode
from grpc.aio import AioRpcError

from roster.v1.tags_pb2 import DeleteTagRequest
from roster.v1.tags_pb2_grpc import TagServiceStub
from rosterd.http_gateway.channel import upstream
from rosterd.http_gateway.channel.upstream import OPTIONS, UpstreamChannel
from rosterd.server.app import SERVICES
from rosterd.server.config import SERVE_GRPC, SERVE_HTTP
from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.serving.gateway_policy import POLICY
from rosterd.server.storage.databases import unit_of_work

from ..components import Component, free_port, launch, running, wait_until_ready
from ..load import Client, Exchange, Load, create, stored
from ..postgres import Postgres

SECONDS = float(os.environ.get("ROSTER_KILL_SECONDS", "6"))
# Seconds during which a revoked key may still be accepted.
KEY_SECONDS = 5.0
SERVERS, GATEWAYS = 3, 2
# Seconds between two requests of a client, so that other tests get CPU time.
PAUSE = 0.01


class Kill(NamedTuple):
    """A killed process: its command, when the signal was sent, and when the process had ended."""

    command: str
    signaled: float
    ended: float

    def overlaps(self, exchange: Exchange) -> bool:
        """Whether a request was in progress during the kill."""
        return exchange.began <= self.ended and exchange.ended >= self.signaled


@dataclass
class Fleet:
    """The processes. Each keeps its address when it is replaced."""

    folder: Path
    settings: dict[str, str]
    servers: list[str] = field(default_factory=list)
    gateways: list[str] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)

    def start(self) -> None:
        self.servers = [f"127.0.0.1:{free_port()}" for _ in range(SERVERS)]
        self.gateways = [f"127.0.0.1:{free_port()}" for _ in range(GATEWAYS)]
        self.components = [self._launch(SERVE_GRPC, address) for address in self.servers]
        self.components += [self._launch(SERVE_HTTP, address) for address in self.gateways]
        for component in self.components:
            wait_until_ready(component)

    def _launch(self, command: str, address: str) -> Component:
        name = {SERVE_GRPC: "ROSTER_GRPC_ADDRESS", SERVE_HTTP: "ROSTER_HTTP_ADDRESS"}[command]
        upstream = f"ipv4:{','.join(self.servers)}"
        log = self.folder / f"{address}.log"
        return launch(command, log, **{**self.settings, "ROSTER_UPSTREAM": upstream, name: address})

    def kill(self, command: str, rng: random.Random) -> Kill:
        """Kills a server or a gateway, and returns once its replacement is ready."""
        component = rng.choice(
            [component for component in self.components if component.command == command]
        )
        signaled = time.monotonic()
        component.stop(signal.SIGKILL)
        kill = Kill(command, signaled, time.monotonic())
        self._replace(component)
        return kill

    def restart_server(self, rng: random.Random) -> int:
        """Stops a server, replaces it, and returns its exit code."""
        component = rng.choice(self.components[:SERVERS])
        code = component.stop()
        self._replace(component)
        return code

    def _replace(self, component: Component) -> None:
        number = self.components.index(component)
        self.components[number] = self._launch(component.command, component.grpc or component.http)
        wait_until_ready(self.components[number])

    def stop(self) -> list[int]:
        """Stops all processes, gateways first, and returns their exit codes."""
        return [component.stop() for component in reversed(self.components)]

    def logs(self) -> str:
        return "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))


@contextmanager
def running_fleet(folder: Path, settings: dict[str, str]) -> Iterator[Fleet]:
    """Runs the processes for the length of a block."""
    fleet = Fleet(folder, settings)
    try:
        fleet.start()
        yield fleet
    finally:
        for component in fleet.components:
            component.stop(signal.SIGKILL)


def create_with_key(client: Client, iteration: int) -> Exchange:
    """Creates a subscriber with an idempotency key, and repeats that until it is accepted."""
    email = f"keyed-{client.number}-{iteration}@example.com"
    while True:
        exchange = client.send(
            "POST", "/api/subscribers", {"email": email}, email=email, Idempotency_Key=email
        )
        # A killed gateway sends no response, and the request may still be running.
        if exchange.status != 0 and not is_running(exchange):
            return exchange


def is_running(exchange: Exchange) -> bool:
    """Whether the response reports that the same request is already running."""
    return exchange.status == 409 and exchange.body["error"]["code"] == "IdempotencyKeyInUse"


@pytest.mark.verify
def test_killed_servers_and_gateways_fail_only_requests_in_progress(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.new_roster()
    settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": postgres.secret_key}
    secrets = [make_secret(), make_secret()]
    with unit_of_work(url) as tx:
        account = store.create_account("owner@example.com", tx, verified=True).id
        keys = [
            store_keys.create_key(account, "", "admin", hash_secret(secret), tx)
            for secret in secrets
        ]

    with running_fleet(tmp_path, settings) as fleet:
        known = Client(0, fleet.gateways, secrets[0], threading.Event())
        ada = known.send("POST", "/api/subscribers", {"email": "ada@example.com"}).body
        path = f"/api/subscribers/{ada['subscriber']['id']}"

        def read(client: Client, iteration: int) -> Exchange:
            return client.send("GET", path)

        load = Load(fleet.gateways, secrets[0], pause=PAUSE)
        revoked_load = Load(fleet.gateways, secrets[1], pause=PAUSE)
        with (
            revoked_load.running(read, read),
            load.running(create, create, create, create_with_key, create_with_key, read, read),
        ):
            load.wait_for_more(20)
            assert known.send("DELETE", f"/api/keys/{keys[1].id}").status == 204
            kills, codes, end = [], [], time.monotonic() + SECONDS
            known.close()
            revoked, rng = time.monotonic(), random.Random(7)
            while len(kills) < 2 or time.monotonic() < end:
                kills.append(fleet.kill((SERVE_GRPC, SERVE_HTTP)[len(kills) % 2], rng))
                load.wait_for_more(20)
                codes.append(fleet.restart_server(rng))
        codes += fleet.stop()

    print(f"{Counter(kill.command for kill in kills)}, {outcomes(load.exchanges)}")
    assert set(codes) == {0}, fleet.logs()
    assert "Traceback" not in fleet.logs()
    check_responses(load.exchanges, ada)
    check_failures(load.failed(), kills)
    found = stored(url, account)
    sent = {exchange.email for exchange in load.exchanges}
    assert set(load.acknowledged()) <= set(found) <= sent | {"ada@example.com"}
    unchanged = {exchange.email for exchange in load.exchanges if exchange.status == 503}
    assert not unchanged & set(found)
    late = [
        exchange for exchange in revoked_load.exchanges if exchange.began > revoked + KEY_SECONDS
    ]
    # After many requests with the revoked key, the address is throttled with 429.
    assert {item.status for item in late if item.status} in ({401}, {401, 429}, {429})


def outcomes(exchanges: list[Exchange]) -> Counter[tuple[str, int]]:
    """Counts the requests by kind and status."""
    return Counter((kind(exchange), exchange.status) for exchange in exchanges)


def kind(exchange: Exchange) -> str:
    if not exchange.email:
        return "read"
    return "keyed" if exchange.email.startswith("keyed") else "create"


def check_responses(exchanges: list[Exchange], ada: Any) -> None:
    """Asserts that each request has one of its possible responses."""
    for exchange in exchanges:
        if exchange.status == 200:
            assert exchange.body == ada
        elif exchange.status == 201:
            assert exchange.body["subscriber"]["email"] == exchange.email
    expected = {
        # If a server is lost, the outcome is unknown: 500, not 503.
        "create": {201, 500, 0},
        # These are retried, so that the loss of a server is invisible.
        "read": {200, 0},
        "keyed": {201},
    }
    assert [e for e in exchanges if e.status not in expected[kind(e)]] == []


def check_failures(failed: list[Exchange], kills: list[Kill]) -> None:
    """Asserts that each failed request was in progress during a kill."""
    assert [item for item in failed if not any(kill.overlaps(item) for kill in kills)] == []
    lost = [item for item in failed if item.status == 0]
    gateways = [kill for kill in kills if kill.command == SERVE_HTTP]
    assert [item for item in lost if not any(kill.overlaps(item) for kill in gateways)] == []


def test_unresponsive_server_is_disconnected_long_before_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scaled = {"grpc.keepalive_time_ms", "grpc.keepalive_timeout_ms", "grpc.http2.ping_timeout_ms"}
    fast_options = [(name, value // 10 if name in scaled else value) for name, value in OPTIONS]
    monkeypatch.setattr(upstream, "OPTIONS", fast_options)

    async def call(address: str) -> None:
        async with UpstreamChannel(address, SERVICES, POLICY.idempotency) as channel:
            tags, request = TagServiceStub(channel), DeleteTagRequest()
            with pytest.raises(AioRpcError, match="API key"):
                await tags.DeleteTag(request)
            server.process.send_signal(signal.SIGSTOP)
            await tags.DeleteTag(request)

    url = f"sqlite:///{tmp_path}/roster.db"
    with running("serve-grpc", tmp_path, ROSTER_DATABASE_URL=url) as server:
        try:
            with pytest.raises(AioRpcError) as failed:
                asyncio.run(call(server.grpc))
        finally:
            server.process.send_signal(signal.SIGCONT)

    # DEADLINE_EXCEEDED would take half a minute.
    assert failed.value.code() is StatusCode.UNAVAILABLE
