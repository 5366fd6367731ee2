"""Actors of each type are stored with what they change."""

from __future__ import annotations

import pytest

from rosterd.server.features.accounts import store_keys as accounts
from rosterd.server.features.audit import store as audit
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import BatchRequest
from rosterd.server.features.subscribers import store_history
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_history import HistoryPosition
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.actors import Actor, ActorType

from .helpers import OURS, SUBSCRIBERS, new, profile

ID = "01M7Y2MPAQ036JVMBN3RCKGA5H"


@pytest.mark.parametrize("actor_type", [ActorType.API_KEY, ActorType.SESSION])
def test_stored_actor_keeps_its_type_and_name(tx: Transaction, actor_type: ActorType) -> None:
    tx.actor = actor = Actor(actor_type, ID, "Ada's laptop")
    accounts.keep_actor(OURS, actor, tx)
    created = SUBSCRIBERS.create(OURS, new(), tx)
    SUBSCRIBERS.update(OURS, created.id, Changes(profile=profile("Eve")), tx)
    key = accounts.create_key(OURS, "new", "read", "hash", tx)
    batch = BatchRequest({"action": {"delete": True}}, [], by_admin=True)
    operation = operations.create(OURS, batch, [created.id], 1, tx)
    entry = audit.entry(ID, "tag.created", actor, "", before=None, after={"name": "vip"})
    audit.add(OURS, [entry], tx)

    page = store_history.page(OURS, created.id, HistoryPosition(20), tx)
    assert [each.actor for each in page.entries] == [actor, actor]
    stored = {
        "key": accounts.find_key(OURS, key.id, tx).as_json()["createdBy"],
        "operation": operations.find(OURS, operation.id, tx).as_json()["actor"],
        "audit entry": audit.rows(OURS, audit.Filter(actor=ID), 2, tx)[0].as_json()["actor"],
    }
    assert stored == dict.fromkeys(stored, actor.as_json())
