"""A service in the process of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from grpc import aio

from roster.v1 import subscribers_pb2
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.server.app import App
from rosterd.server.config import Settings
from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.features.webhooks.egress.client import Client
from rosterd.server.features.webhooks.egress.policy import EgressPolicy
from rosterd.server.storage.sqlite.database import SqliteDatabase

from ..storage.helpers import ENCRYPTION


class Service(NamedTuple):
    """A service in this process, and an account with an API key."""

    channel: aio.Channel
    database: SqliteDatabase
    account: str
    key: str

    async def call(self, rpc: str, request: Any) -> Any:
        call = self.channel.unary_unary(f"/roster.v1.{rpc}")
        return await call(request, metadata=self._metadata)

    def stream(self, rpc: str, request: Any) -> Any:
        return self.channel.unary_stream(f"/roster.v1.{rpc}")(request, metadata=self._metadata)

    async def revoke_keys(self) -> None:
        await self.database.write(partial(store_keys.delete_keys, self.account))

    @property
    def _metadata(self) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.key}")]


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Service]:
    database, key = SqliteDatabase(folder / "roster.db"), make_secret()
    await database.open()
    try:
        app = App(Settings({}), database, ENCRYPTION, Client(EgressPolicy()))
        app.accept_calls()
        create = partial(
            store.create_account_with_key, "owner@example.com", hash_secret(key), verified=True
        )
        account, _ = await database.write(create)
        channel = InProcessChannel(app.register, app.interceptors)
        yield Service(channel, database, account.id, key)
    finally:
        await database.close()


async def add_subscribers(service: Service) -> None:
    rows = [subscribers_pb2.BulkSubscriber(email=f"{name}@example.com") for name in "abc"]
    request = subscribers_pb2.BulkCreateSubscribersRequest(subscribers=rows)
    await service.call("SubscriberService/BulkCreateSubscribers", request)
