"""Calls that last longer than the cache of API keys end when their key is revoked.

The deletion of an account revokes its keys first.
"""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from grpc import StatusCode, aio

from roster.v1 import audit_pb2, operations_pb2, subscribers_pb2, suppressions_pb2
from rosterd.server.features.audit import service as audit
from rosterd.server.features.exports import service as exports
from rosterd.server.features.operations import store as operations_store
from rosterd.server.features.operations import store_steps
from rosterd.server.features.subscribers.query import store_pages
from rosterd.server.features.suppressions import service as suppressions
from rosterd.server.storage.transaction import Transaction

from .in_process import add_subscribers, serving

EXPORTS = {
    "SubscriberService/ExportSubscribers": subscribers_pb2.ExportSubscribersRequest(),
    "SuppressionService/ExportSuppressions": suppressions_pb2.ExportSuppressionsRequest(),
    "AuditService/ExportAuditEntries": audit_pb2.ExportAuditEntriesRequest(),
}


DELETION = operations_pb2.BatchChangeSubscribersRequest(
    filter="email:*", action=operations_pb2.BatchAction(delete=True)
)


@pytest.mark.parametrize("rpc", sorted(EXPORTS))
async def test_export_ends_when_its_key_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rpc: str
) -> None:
    monkeypatch.setattr(exports, "BATCH", 1)
    monkeypatch.setattr(suppressions, "EXPORT_BATCH", 1)
    monkeypatch.setattr(audit, "EXPORT_BATCH", 1)
    async with serving(tmp_path) as service:
        await add_subscribers(service)
        # Also adds entries to the audit log.
        emails = suppressions_pb2.AddSuppressionsRequest(emails=["x@example.com", "y@example.com"])
        await service.call("SuppressionService/AddSuppressions", emails)
        responses = service.stream(rpc, EXPORTS[rpc])
        assert (await anext(responses)).ByteSize()

        await service.revoke_keys()

        with pytest.raises(aio.AioRpcError) as caught:
            async for _ in responses:
                pass
        assert caught.value.code() is StatusCode.UNAUTHENTICATED


async def test_watch_of_an_operation_ends_when_its_key_is_revoked(tmp_path: Path) -> None:
    async with serving(tmp_path) as service:
        await add_subscribers(service)
        # Nothing runs it.
        started = await service.call("OperationService/BatchChangeSubscribers", DELETION)
        watch = operations_pb2.WatchOperationRequest(id=started.operation.id)
        responses = service.stream("OperationService/WatchOperation", watch)
        await anext(responses)

        await service.revoke_keys()

        with pytest.raises(aio.AioRpcError) as caught:
            await anext(responses)
        assert caught.value.code() is StatusCode.UNAUTHENTICATED


async def test_operation_is_not_stored_if_the_keys_were_revoked_while_it_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts, is_revoked = asyncio.Event(), threading.Event()
    loop, count_matches = asyncio.get_running_loop(), store_pages.count_matches

    def count_until_revoked(account_id: str, tree: Any, tx: Transaction) -> int:
        loop.call_soon_threadsafe(counts.set)
        assert is_revoked.wait(60)
        return count_matches(account_id, tree, tx)

    monkeypatch.setattr(store_steps, "count_matches", count_until_revoked)
    async with serving(tmp_path) as service:
        call = asyncio.ensure_future(
            service.call("OperationService/BatchChangeSubscribers", DELETION)
        )
        await counts.wait()
        await service.revoke_keys()
        is_revoked.set()

        with pytest.raises(aio.AioRpcError) as caught:
            await call
        assert caught.value.code() is StatusCode.UNAUTHENTICATED
        assert await service.database.read(partial(operations_store.running, service.account)) == []
