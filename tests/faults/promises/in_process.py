"""A whole service in this process, without ports, and clients that call it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from grpc import aio

from http_gateway.channel.in_process import InProcessChannel
from server.accounts.rules import make_secret
from server.app import App, newest_id
from server.clock import system_clock
from server.encryption import KEY_BYTES, Encryption
from server.serving.core import bootstrap
from server.storage.sqlite.database import SqliteDatabase
from server.webhooks.egress.client import Client
from server.webhooks.egress.policy import EgressPolicy

from ...fronts import METHODS, Response, answer_of_error, to_json, to_message
from .recorder import Operation

# It has every change recorded as an event, and none delivered.
UNHEARD = {"url": "https://example.com/", "enabled": False}
# The same for every service, so that one goes on where another ended.
_KEY = make_secret()


class Service:
    """What answers calls."""

    def __init__(self, channel: aio.Channel) -> None:
        self._channel = channel

    async def send(self, operation: Operation) -> Response:
        """Sends an operation with its idempotency key."""
        return await self.call(operation.rpc, operation.request, operation.key)

    async def call(self, rpc: str, request: dict[str, Any], idempotency_key: str = "") -> Response:
        """Makes a call and returns what came of it."""
        method = METHODS[rpc]
        calls = self._channel.unary_unary(f"/{method.containing_service.full_name}/{rpc}")
        metadata = [("authorization", f"Bearer {_KEY}")]
        if idempotency_key:
            metadata.append(("idempotency-key", idempotency_key))
        try:
            reply = await calls(to_message(method, request), metadata=metadata)
        except aio.AioRpcError as error:
            return answer_of_error(error)
        return Response(200, to_json(reply))


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[Service]:
    """Serves a file while the block runs. Raises StorageError if it cannot be served."""
    database = SqliteDatabase(path)
    await database.open()
    try:
        database.ids.start_past(await database.read(newest_id))
        egress_policy = EgressPolicy()
        encryption = Encryption(bytes(KEY_BYTES))
        app = App(
            database,
            system_clock,
            encryption,
            egress_policy=egress_policy,
            client=Client(egress_policy),
        )
        app.begin()
        is_new = await database.write(lambda tx: bootstrap(_KEY, tx))
        service = Service(InProcessChannel(app.register, app.interceptors))
        if is_new:
            await service.call("CreateWebhook", UNHEARD)
        yield service
    finally:
        await database.close()


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps to itself what services log of faults that they are to meet."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
