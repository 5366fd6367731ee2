"""Audit entries: the transaction of the action has its entry, and old ones are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rosterd.server.features.audit import store
from rosterd.server.features.audit.audited_database import AuditedCall, AuditedDatabase
from rosterd.server.features.audit.rules import RETENTION_MILLISECONDS
from rosterd.server.features.audit.store import AuditEntryRow, Filter
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import TagAlreadyExists
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.actors import Actor, ActorType
from rosterd.server.values.ids import first_id_at

from . import opened
from .helpers import ENCRYPTION, OURS, THEIRS

KEY = Actor(ActorType.API_KEY, "a key", "ci")
Scenario = Callable[[AuditedDatabase], Awaitable[Any]]


@pytest.fixture
def run(url: str) -> Callable[[Scenario], Any]:
    """Runs a scenario on an empty database of each type."""
    return lambda scenario: opened.run(
        url, lambda database: scenario(AuditedDatabase(database, ENCRYPTION)), connections=2
    )


def begin(database: AuditedDatabase) -> AuditedCall:
    call = AuditedCall(OURS, "subscriber.imported", KEY, "192.0.2.1", "")
    database.audit(call)
    return call


def create(name: str) -> Callable[[Transaction], object]:
    return lambda tx: tags.create(OURS, name, "", tx)


async def stored(database: AuditedDatabase) -> tuple[int, int]:
    """Returns the numbers of tags and of audit entries."""
    return await database.read(
        lambda tx: (tags.count(OURS, tx), len(store.rows(OURS, Filter(), 100, tx)))
    )


def test_action_and_entry_are_stored_together_or_not_at_all(
    run: Callable[[Scenario], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise TagAlreadyExists

    async def scenario(database: AuditedDatabase) -> None:
        call = begin(database)
        with pytest.raises(TagAlreadyExists):
            await database.write(fail)
        with monkeypatch.context() as patched:
            patched.setattr(store, "add", fail)
            with pytest.raises(TagAlreadyExists):
                await database.write(create("vip"))
        assert await stored(database) == (0, 0)

        await database.write(create("vip"))
        database.end_audit(call)
        await database.write(create("early"))
        assert await stored(database) == (2, 1)

    run(scenario)


def test_concurrent_writes_of_a_call_add_one_entry_also_if_the_first_fails(
    run: Callable[[Scenario], Any],
) -> None:
    async def scenario(database: AuditedDatabase) -> None:
        await database.write(create("vip"))
        begin(database)
        names = ("vip", "b", "c", "d")
        writes = (database.write(create(name)) for name in names)
        outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert isinstance(outcomes[0], TagAlreadyExists)
        assert await stored(database) == (4, 1)

    run(scenario)


def test_call_whose_task_makes_another_call_is_not_recorded_twice(
    run: Callable[[Scenario], Any],
) -> None:
    async def scenario(database: AuditedDatabase) -> None:
        call = begin(database)
        # A stream that is closed in another task.
        await asyncio.to_thread(database.end_audit, call)
        await database.write(create("vip"))

        assert await stored(database) == (1, 0)

    run(scenario)


def test_entries_are_deleted_after_400_days(tx: Transaction) -> None:
    end = tx.now - RETENTION_MILLISECONDS
    kept, old = (
        AuditEntryRow(first_id_at(time), "tag.created", "a key", "ci", "", "", "", "", None)
        for time in (end, end - 1)
    )
    store.add(OURS, [kept, old], tx)
    store.add(THEIRS, [old], tx)

    assert store.has_old(OURS, tx)
    assert store.purge(OURS, tx) == 1

    assert not store.has_old(OURS, tx)
    assert store.rows(OURS, Filter(), 10, tx) == [kept]
    assert store.rows(THEIRS, Filter(), 10, tx) == [old]
