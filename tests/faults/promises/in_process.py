"""Runs a whole service in this process, without ports, and calls it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from grpc import aio

from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.app import App, newest_id
from rosterd.server.config import Settings
from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.rpc.messages import JsonResponse
from rosterd.server.security.encryption import KEY_BYTES, Encryption
from rosterd.server.serving.core import bootstrap
from rosterd.server.storage.sqlite.database import SqliteDatabase

from ...fronts import METHODS, Response, error_response, to_json, to_message
from .recorder import Operation

# Records every change as an event and delivers none.
DISABLED_WEBHOOK = {"url": "https://example.com/", "enabled": False}
# The same for every service, so that each continues with the account of the previous one.
_KEY = make_secret()


class Service:
    """The server, called over an in-process channel."""

    def __init__(self, channel: aio.Channel) -> None:
        self._channel = channel

    async def send(self, operation: Operation) -> Response:
        """Sends an operation with its idempotency key."""
        return await self.call(operation.rpc, operation.request, operation.key)

    async def call(self, rpc: str, request: dict[str, Any], idempotency_key: str = "") -> Response:
        """Calls an rpc and returns its response."""
        method = METHODS[rpc]
        calls = self._channel.unary_unary(f"/{method.containing_service.full_name}/{rpc}")
        metadata = [("authorization", f"Bearer {_KEY}")]
        if idempotency_key:
            metadata.append(("idempotency-key", idempotency_key))
        try:
            reply = await calls(to_message(method, request), metadata=metadata)
        except aio.AioRpcError as error:
            return error_response(error)
        message = reply.to_message() if isinstance(reply, JsonResponse) else reply
        return Response(200, to_json(message))


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[Service]:
    """Serves a database file while the block runs. Raises StorageError on failure."""
    database = SqliteDatabase(path)
    await database.open()
    try:
        database.ids.start_past(await database.read(newest_id))
        encryption = Encryption(bytes(KEY_BYTES))
        unlimited = Settings({"signup_rate_limit": "off"})
        app = App(unlimited, database, encryption, Client(EgressPolicy()))
        app.accept_calls()
        is_new = await database.write(lambda tx: bootstrap(_KEY, tx))
        service = Service(InProcessChannel(app.register, app.interceptors))
        if is_new:
            await service.call("CreateWebhook", DISABLED_WEBHOOK)
        yield service
    finally:
        await database.close()


@contextmanager
def quiet() -> Iterator[None]:
    """Disables logging, because the services log the injected faults."""
    logging.disable()
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
