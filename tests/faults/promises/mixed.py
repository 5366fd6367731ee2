"""Clients of both fronts that send a mix of calls and abandon some of them.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.faults.promises.mixed HTTP GRPC KEY SECONDS RATE ABANDONED_PERCENT

With an empty HTTP, only gRPC is called. All clients together start at most RATE calls per second;
0 is unlimited. ABANDONED_PERCENT of the calls are cancelled by their client at about the time of
the response. Clients delete what they create, so that the stored data hardly grows. The program
prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import aiohttp
import grpc
import uvloop
from google.protobuf import message_factory

from ...fronts import METHODS, binding, path_variables, to_json, to_message

CLIENTS = 16
# An abandoned call is cancelled within so many seconds, about the time of a response.
ABANDON_AFTER = 0.004
TIMEOUT = 30


class CallError(Exception):
    """A call returned an unexpected error."""


class Front(Protocol):
    """A front of a service, for concurrent clients."""

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        """Returns the response as JSON, or None for a 404. Raises CallError."""


class OverHttp:
    """JSON over HTTP, on a persistent connection."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._base = session, f"http://{address}"

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        method, path, has_body = binding(rpc)
        rest = dict(request)
        for name in path_variables(rpc):
            path = path.replace(f"{{{name}}}", quote(rest.pop(name), safe=""))
        body = rest if has_body else None
        url = self._base + (path if has_body or not rest else f"{path}?{urlencode(rest)}")
        async with self._session.request(method, url, json=body) as response:
            text = await response.read()
        if response.status >= 400 and response.status != 404:
            raise CallError(f"{rpc} over HTTP: {response.status}")
        is_whole = response.status < 300 and response.content_type == "application/json"
        return json.loads(text) if is_whole and text else None


class OverGrpc:
    """gRPC, on a connection that all clients share."""

    def __init__(self, channel: grpc.aio.Channel, key: str) -> None:
        self._metadata = (("authorization", f"Bearer {key}"),)
        self._calls = {rpc: self._stub(channel, rpc) for rpc in METHODS}

    def _stub(self, channel: grpc.aio.Channel, rpc: str) -> Any:
        method = METHODS[rpc]
        kind = channel.unary_stream if method.server_streaming else channel.unary_unary
        return kind(
            f"/{method.containing_service.full_name}/{rpc}",
            request_serializer=message_factory.GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        message = to_message(METHODS[rpc], request)
        call = self._calls[rpc](message, metadata=self._metadata, timeout=TIMEOUT)
        try:
            if METHODS[rpc].server_streaming:
                return [reply async for reply in call]
            return to_json(await call)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise CallError(f"{rpc} over gRPC: {error.code().name}") from error
            return None


class Mix:
    """The call rate and the counts that all clients share."""

    def __init__(self, rate: float, abandoned_percent: float) -> None:
        self._pause = CLIENTS / rate if rate else 0
        self._leaving = abandoned_percent / 100
        self.ended = False
        self.counts: Counter[str] = Counter()

    async def client(self, number: int, front: Front) -> None:
        """Creates a subscriber, uses it in several calls, and deletes it, until the end."""
        run, iteration = random.randbytes(4).hex(), 0
        await asyncio.sleep(self._pause * number / CLIENTS)
        while not self.ended:
            iteration += 1
            email = f"{run}-{iteration}@example.com"
            tags = ["soak", f"tag-{iteration % 20}"]
            await self._call(front, "CreateSubscriber", email=email, tags=tags)
            found = await self._call(front, "GetSubscriber", id=email)
            if found is None:
                continue
            subscriber = found["subscriber"]["id"]
            await self._call(
                front, "UpdateSubscriber", id=subscriber, lastName=f"Lovelace {iteration}"
            )
            await self._call(front, "ListSubscribers", limit=20)
            await self._call(front, "AddSubscriberTags", id=subscriber, tags=["more"])
            await self._call(front, "RenderMergeTags", body="{{email}}", subscriberId=subscriber)
            if iteration % 20 == 0:
                await self._call(front, "ExportSubscribers")
            await self._call(front, "DeleteSubscriber", id=subscriber)

    async def _call(self, front: Front, rpc: str, **request: Any) -> Any:
        """Makes a call at its scheduled time. Returns None if it was abandoned or failed."""
        began = time.perf_counter()
        time_limit = (
            random.uniform(0, ABANDON_AFTER) if random.random() < self._leaving else TIMEOUT
        )
        try:
            async with asyncio.timeout(time_limit):
                response = await front.call(rpc, request)
            self.counts["succeeded"] += 1
        except TimeoutError:
            response = None
            self.counts["abandoned" if time_limit < TIMEOUT else "timed out"] += 1
        except (CallError, aiohttp.ClientError) as error:
            response = None
            self.counts["unexpected responses"] += 1
            print(error, file=sys.stderr)
        await asyncio.sleep(max(began + self._pause - time.perf_counter(), 0))
        return response


async def drive(http: str, address: str, key: str, seconds: float, mix: Mix) -> dict[str, float]:
    """Runs the clients for so many seconds and returns their counts."""
    headers, began = {"Authorization": f"Bearer {key}"}, time.perf_counter()
    async with AsyncExitStack() as stack:
        over_grpc = OverGrpc(
            await stack.enter_async_context(grpc.aio.insecure_channel(address)), key
        )
        runs = []
        for number in range(CLIENTS):
            front: Front = over_grpc
            if http and number % 2:
                # Each client has its own session. A shared pool would hold as many connections as
                # calls ever overlapped, which depends on the speed of the machine.
                session = await stack.enter_async_context(aiohttp.ClientSession(headers=headers))
                front = OverHttp(session, http)
            runs.append(mix.client(number, front))
        asyncio.get_running_loop().call_later(seconds, setattr, mix, "ended", True)
        await asyncio.gather(*runs)
    took = time.perf_counter() - began
    counts = {
        name: mix.counts[name]
        for name in ("succeeded", "abandoned", "timed out", "unexpected responses")
    }
    return {"successes per second": mix.counts["succeeded"] / took, **counts}


if __name__ == "__main__":
    _, http, address, key, seconds, rate, abandoned_percent = sys.argv
    mix = Mix(float(rate), float(abandoned_percent))
    print(json.dumps(uvloop.run(drive(http, address, key, float(seconds), mix))))
