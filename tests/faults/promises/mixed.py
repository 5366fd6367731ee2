"""Clients of both fronts that do a bit of everything; some of them leave in mid-call.

Run as a program of its own, so that it does not share an interpreter with what it asks:

    python -m tests.faults.promises.mixed HTTP GRPC KEY SECONDS RATE LEAVING

Where HTTP is empty, gRPC alone is called. All clients together begin at most RATE calls a
second, or as many as they can where it is 0. Of each hundred calls LEAVING are left by their
client about when they are answered. What a client has made it deletes again, so that what is
stored stays as much as it was, nearly. Standard output gets one JSON object.
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
# A client that leaves does so within so many seconds: an answer takes about as long.
PATIENCE = 0.004
LONG = 30


class RowError(Exception):
    """A call was answered by an error that it should not have met."""


class Front(Protocol):
    """A front of a service, for clients that call at the same time."""

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        """Returns the answer as JSON, None if there is no such thing. Raises Refused."""


class OverHttp:
    """JSON over HTTP, over a connection that is kept until the client leaves."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session, self._base = session, f"http://{address}"

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        method, path, has_body = binding(rpc)
        rest = dict(request)
        for name in path_variables(rpc):
            path = path.replace(f"{{{name}}}", quote(rest.pop(name), safe=""))
        body = rest if has_body else None
        url = self._base + (path if has_body or not rest else f"{path}?{urlencode(rest)}")
        async with self._session.request(method, url, json=body) as answer:
            text = await answer.read()
        if answer.status >= 400 and answer.status != 404:
            raise RowError(f"{rpc} over HTTP: {answer.status}")
        is_whole = answer.status < 300 and answer.content_type == "application/json"
        return json.loads(text) if is_whole and text else None


class OverGrpc:
    """gRPC, over a connection that all share."""

    def __init__(self, channel: grpc.aio.Channel, key: str) -> None:
        self._metadata = (("authorization", f"Bearer {key}"),)
        self._calls = {rpc: self._made(channel, rpc) for rpc in METHODS}

    def _made(self, channel: grpc.aio.Channel, rpc: str) -> Any:
        method = METHODS[rpc]
        kind = channel.unary_stream if method.server_streaming else channel.unary_unary
        return kind(
            f"/{method.containing_service.full_name}/{rpc}",
            request_serializer=message_factory.GetMessageClass(method.input_type).SerializeToString,
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )

    async def call(self, rpc: str, request: dict[str, Any]) -> Any:
        message = to_message(METHODS[rpc], request)
        asked = self._calls[rpc](message, metadata=self._metadata, timeout=LONG)
        try:
            if METHODS[rpc].server_streaming:
                return [reply async for reply in asked]
            return to_json(await asked)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise RowError(f"{rpc} over gRPC: {error.code().name}") from error
            return None


class Mix:
    """What all clients have in common: how fast they go, and what came of their calls."""

    def __init__(self, rate: float, leaving: float) -> None:
        self._pause = CLIENTS / rate if rate else 0
        self._leaving = leaving / 100
        self.ended = False
        self.counts: Counter[str] = Counter()

    async def client(self, number: int, front: Front) -> None:
        """Makes a subscriber, does with it what can be done, and deletes it, until the end."""
        run, run_cycle = random.randbytes(4).hex(), 0
        await asyncio.sleep(self._pause * number / CLIENTS)
        while not self.ended:
            run_cycle += 1
            email = f"{run}-{run_cycle}@example.com"
            tags = ["soak", f"tag-{run_cycle % 20}"]
            await self._take(front, "CreateSubscriber", email=email, tags=tags)
            made = await self._take(front, "GetSubscriber", id=email)
            if made is None:
                continue
            own = made["subscriber"]["id"]
            await self._take(front, "UpdateSubscriber", id=own, lastName=f"Lovelace {run_cycle}")
            await self._take(front, "ListSubscribers", limit=20)
            await self._take(front, "AddSubscriberTags", id=own, tags=["more"])
            await self._take(front, "RenderMergeTags", body="{{email}}", subscriberId=own)
            if run_cycle % 20 == 0:
                await self._take(front, "ExportSubscribers")
            await self._take(front, "DeleteSubscriber", id=own)

    async def _take(self, front: Front, rpc: str, **request: Any) -> Any:
        """Makes a call in its time; None where the client has left, or there was nothing."""
        began = time.perf_counter()
        patience = random.uniform(0, PATIENCE) if random.random() < self._leaving else LONG
        try:
            async with asyncio.timeout(patience):
                answer = await front.call(rpc, request)
            self.counts["done"] += 1
        except TimeoutError:
            answer = None
            self.counts["left" if patience < LONG else "silent"] += 1
        except (RowError, aiohttp.ClientError) as error:
            answer = None
            self.counts["wrong"] += 1
            print(error, file=sys.stderr)
        await asyncio.sleep(max(began + self._pause - time.perf_counter(), 0))
        return answer


async def drive(http: str, address: str, key: str, seconds: float, mix: Mix) -> dict[str, float]:
    """Lets the clients call for so long, and returns what came of it."""
    headers, began = {"Authorization": f"Bearer {key}"}, time.perf_counter()
    async with AsyncExitStack() as stack:
        over_grpc = OverGrpc(
            await stack.enter_async_context(grpc.aio.insecure_channel(address)), key
        )
        runs = []
        for number in range(CLIENTS):
            front: Front = over_grpc
            if http and number % 2:
                # Of its own, and not of a pool that all share: that would keep as many
                # connections as calls once met, which depends on how fast the machine is.
                session = await stack.enter_async_context(aiohttp.ClientSession(headers=headers))
                front = OverHttp(session, http)
            runs.append(mix.client(number, front))
        asyncio.get_running_loop().call_later(seconds, setattr, mix, "ended", True)
        await asyncio.gather(*runs)
    took = time.perf_counter() - began
    counts = {name: mix.counts[name] for name in ("done", "left", "silent", "wrong")}
    return {"done a second": mix.counts["done"] / took, **counts}


if __name__ == "__main__":
    _, http, address, key, seconds, rate, leaving = sys.argv
    mix = Mix(float(rate), float(leaving))
    print(json.dumps(uvloop.run(drive(http, address, key, float(seconds), mix))))
