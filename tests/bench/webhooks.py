"""What webhooks cost the changes that they tell of, and how soon after a change they arrive."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import aiohttp

from server.accounts import store
from server.accounts.rules import hash_secret, make_secret

from ..processes import Service, start
from .measuring import SHORT, Figure, in_turns, load, request, row, send

# What the service needs in order to reach a receiver on this machine.
SETTINGS = {"ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8", "ROSTER_WEBHOOK_ALLOW_HTTP": "true"}
MANY_WEBHOOKS = 20
CREATES = 3_000 if SHORT else 20_000
EVENTS_A_SECOND = 200
SECONDS = 2 if SHORT else 6
RUNS = 1 if SHORT else 5
TURN_SECONDS = 2
TURNS = 1 if SHORT else 45
# How long after the last event it may take until all have arrived.
PATIENCE = 30.0


def stats(service: Service) -> Iterator[Figure]:
    """Yields what creations are with one webhook, and with many, against those with none.

    The webhooks are disabled: events are recorded, and the machine is left to the creations.
    """
    url = "http://127.0.0.1:9/"
    none, one, many = (_account(service) for _ in range(3))
    _add_webhook(service, one, url, enabled=False)
    for _ in range(MANY_WEBHOOKS):
        _add_webhook(service, many, url, enabled=False)

    def creates(key: str) -> float:
        requests = [request("POST", "/api/subscribers", key, row()) for _ in range(CREATES)]
        return load(service.http, requests)

    measured = in_turns(lambda: creates(one), lambda: creates(none))
    yield Figure("create_with_a_webhook", *measured, unit="requests/s", other="none")
    measured = in_turns(lambda: creates(many), lambda: creates(one))
    yield Figure("create_with_20_webhooks", *measured, unit="requests/s", other="one")


class Delays(NamedTuple):
    """How long, in milliseconds, half of the events took to arrive at most, and 99 of 100."""

    median: float
    last: float


def delays(service: Service) -> Delays:
    """Returns how long after a change its event arrives.

    It is counted from the answer to the change: it is committed then. Of a run the slowest
    are few, and their delay is a matter of luck; so medians of several runs are given.
    """
    found = [_quantiles(asyncio.run(_delays(service, SECONDS))) for _ in range(RUNS)]
    return Delays(*map(statistics.median, zip(*found, strict=True)))


def beside_a_hanging_one(folder: Path) -> float:
    """Returns how many times as long 99 of 100 events take beside an endpoint that hangs.

    Both are measured in short turns, and all events of each are taken together. The folder
    is one in memory: a shared disk takes 0.3 ms to sync, and each few seconds hundreds, so
    that of some thousand events the slowest tell of the disk and of nothing else.
    """
    service = start(folder, **SETTINGS)
    alone: list[float] = []
    beside: list[float] = []
    try:
        for _ in range(TURNS):
            alone += asyncio.run(_delays(service, TURN_SECONDS))
            beside += asyncio.run(_delays(service, TURN_SECONDS, beside_a_hanging_one=True))
    finally:
        service.stop()
    return _quantiles(beside).last / _quantiles(alone).last


def _quantiles(delays: list[float]) -> Delays:
    ordered = sorted(delays)
    return Delays(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100])


class _Receiver(asyncio.Protocol):
    """Notes when the event of each subscriber arrived, and takes it."""

    def __init__(self, arrived: dict[str, float]) -> None:
        self.arrived = arrived
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, blank, body = self.buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not blank or len(body) < int(length):
            return
        email = json.loads(body)["data"]["subscriber"]["email"]
        self.arrived.setdefault(email, time.perf_counter())
        self.buffer = b""
        self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def _delays(
    service: Service, seconds: int, *, beside_a_hanging_one: bool = False
) -> list[float]:
    arrived: dict[str, float] = {}
    makers: list[Callable[[], asyncio.Protocol]] = [partial(_Receiver, arrived)]
    if beside_a_hanging_one:
        makers.append(asyncio.Protocol)
    key = _account(service)
    loop, receivers = asyncio.get_running_loop(), []
    for make in makers:
        receivers.append(await loop.create_server(make, "127.0.0.1", 0))
        port = receivers[-1].sockets[0].getsockname()[1]
        _add_webhook(service, key, f"http://127.0.0.1:{port}/", "subscriber.*")
    committed: dict[str, float] = {}
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:

        async def create(at: float) -> None:
            await asyncio.sleep(at - time.perf_counter())
            person = row()
            address = f"http://{service.http}/api/subscribers"
            async with session.post(address, json=person) as answer:
                assert answer.status == 201
            committed[person["email"]] = time.perf_counter()

        begun = time.perf_counter()
        moments = [begun + n / EVENTS_A_SECOND for n in range(EVENTS_A_SECOND * seconds)]
        await asyncio.gather(*map(create, moments))
        async with asyncio.timeout(PATIENCE):
            while len(arrived) < len(committed):  # noqa: ASYNC110 - it is no hurry
                await asyncio.sleep(0.1)
    for receiver in receivers:
        receiver.close()
    return [1000 * max(arrived[email] - moment, 0) for email, moment in committed.items()]


def _account(service: Service) -> str:
    """Makes an account and returns a key of it."""
    secret = make_secret()
    with service.unit_of_work() as tx:
        account = store.create_account(f"{uuid4().hex}@example.com", tx, verified=True)
        store.create_key(account.id, "bench", "admin", hash_secret(secret), tx)
    return secret


def _add_webhook(
    service: Service, key: str, url: str, *event_types: str, enabled: bool = True
) -> None:
    body: dict[str, Any] = {"url": url, "eventTypes": list(event_types), "enabled": enabled}
    answer = json.loads(send(service.http, "POST", "/api/webhooks", body, key))
    assert "webhook" in answer, answer
