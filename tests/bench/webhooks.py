"""The cost of webhooks for changes, and the delay from a change to its event."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from uuid import uuid4

import aiohttp

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.rpc.interceptors.fair_share import ACTIVE_SECONDS

from .. import memory
from ..processes import Service, start
from .measurement import SHORT, Rate, Stats, compared, create_request, load, row, send, spread

# Settings that allow a receiver on the loopback interface.
SETTINGS = {"ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8", "ROSTER_WEBHOOK_ALLOW_HTTP": "true"}
MANY_WEBHOOKS = 20
# Seconds between the turns of two accounts: the CPU is shared among accounts that call.
PAUSE = ACTIVE_SECONDS + 0.2
EVENTS_PER_SECOND = 200
SECONDS = 2 if SHORT else 6
RUNS = 1 if SHORT else 5
TURN_SECONDS = 2
# Each run has so many turns of each case.
TURNS = 1 if SHORT else 4
# Seconds after the last change within which all events must arrive.
TIMEOUT = 30.0


def stats(service: Service) -> Iterator[Stats]:
    """Yields creations with one webhook and with many, compared with none and one.

    The webhooks are disabled: events are recorded but not delivered, so that deliveries use no CPU
    time.
    """
    url = "http://127.0.0.1:9/"
    none, one, many = (_account(service) for _ in range(3))
    _add_webhook(service, one, url, enabled=False)
    for _ in range(MANY_WEBHOOKS):
        _add_webhook(service, many, url, enabled=False)

    def creates(key: str) -> Rate:
        time.sleep(PAUSE)
        return load(service.http, [create_request(key)], [service.process.pid])

    yield compared("create_with_a_webhook", lambda: creates(one), lambda: creates(none))
    yield compared(
        f"create_with_{MANY_WEBHOOKS}_webhooks", lambda: creates(many), lambda: creates(one)
    )


class Delays(NamedTuple):
    """The median and the 99th percentile of the delays of events, in milliseconds."""

    median: float
    last: float


def delivery_stats(service: Service) -> Iterator[Stats]:
    """Yields the delays of events after their changes.

    The delay starts with the response to the change, which is committed by then. The slowest
    events of a run vary by chance, so the medians of several runs count.
    """
    results = [_quantiles(asyncio.run(_delays(service, SECONDS))) for _ in range(RUNS)]
    medians, lasts = zip(*results, strict=True)
    yield spread("webhook_median_ms", medians, 1) | spread("webhook_99th_ms", lasts, 1)


def hanging_endpoint_stats() -> Iterator[Stats]:
    """Yields the ratio of the 99th percentiles with and without a hanging endpoint.

    The two cases alternate. Each run combines the times of its turns, and the median of the runs
    counts. The files are in memory: a sync to a shared disk usually takes 0.3 ms, but sometimes
    hundreds, which would dominate the 99th percentile.
    """
    with memory.folder() as folder:
        service = start(folder, **SETTINGS)
        try:
            ratios = [_with_hanging_endpoint(service) for _ in range(RUNS)]
        finally:
            service.stop()
    yield spread("webhook_99th_with_hanging_endpoint", ratios, 2)


def _with_hanging_endpoint(service: Service) -> float:
    alone: list[float] = []
    with_hanging: list[float] = []
    for _ in range(TURNS):
        alone += asyncio.run(_delays(service, TURN_SECONDS))
        with_hanging += asyncio.run(_delays(service, TURN_SECONDS, with_hanging_endpoint=True))
    return _quantiles(with_hanging).last / _quantiles(alone).last


def _quantiles(delays: list[float]) -> Delays:
    ordered = sorted(delays)
    return Delays(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100])


class _Receiver(asyncio.Protocol):
    """Records the arrival of each subscriber's event, and accepts it."""

    def __init__(self, arrived: dict[str, float]) -> None:
        self.arrived = arrived
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not separator or len(body) < int(length):
            return
        email = json.loads(body)["data"]["subscriber"]["email"]
        self.arrived.setdefault(email, time.perf_counter())
        self.buffer = b""
        self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def _delays(
    service: Service, seconds: int, *, with_hanging_endpoint: bool = False
) -> list[float]:
    arrived: dict[str, float] = {}
    makers: list[Callable[[], asyncio.Protocol]] = [partial(_Receiver, arrived)]
    if with_hanging_endpoint:
        makers.append(asyncio.Protocol)
    key = _account(service)
    await asyncio.sleep(PAUSE)
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
            async with session.post(address, json=person) as response:
                assert response.status == 201, await response.text()
            committed[person["email"]] = time.perf_counter()

        begun = time.perf_counter()
        schedule = [begun + n / EVENTS_PER_SECOND for n in range(EVENTS_PER_SECOND * seconds)]
        await asyncio.gather(*map(create, schedule))
        async with asyncio.timeout(TIMEOUT):
            while len(arrived) < len(committed):  # noqa: ASYNC110 - latency does not matter here
                await asyncio.sleep(0.1)
    for receiver in receivers:
        receiver.close()
    return [
        1000 * max(arrived[email] - committed_at, 0) for email, committed_at in committed.items()
    ]


def _account(service: Service) -> str:
    """Creates an account and returns its API key."""
    secret = make_secret()
    with service.unit_of_work() as tx:
        account = store.create_account(f"{uuid4().hex}@example.com", tx, verified=True)
        store_keys.create_key(account.id, "bench", "admin", hash_secret(secret), tx)
    return secret


def _add_webhook(
    service: Service, key: str, url: str, *event_types: str, enabled: bool = True
) -> None:
    body: dict[str, Any] = {"url": url, "eventTypes": list(event_types), "enabled": enabled}
    response = json.loads(send(service.http, "POST", "/api/webhooks", body, key))
    assert "webhook" in response, response
