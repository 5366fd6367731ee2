"""Running operations that filter by a tag or custom field, when it is renamed or deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from roster.v1 import operations_pb2 as pb
from rosterd.server.features.accounts.store_keys import create_key
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.operations import store
from rosterd.server.features.operations.rules import BatchRequest, State
from rosterd.server.features.operations.service import OperationService
from rosterd.server.features.operations.store_filters import OperationFilters
from rosterd.server.features.segments.store import SegmentFilters
from rosterd.server.features.subscribers.query.request import FilterExpressions
from rosterd.server.rpc import caller
from rosterd.server.rpc.caller import Caller
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.actors import Actor, ActorType
from rosterd.server.values.clock import system_clock

from ..behavior.helpers import MISSING_ID
from ..cases import each
from .helpers import OURS, THEIRS

FILTERS = OperationFilters()


def start(
    tx: Transaction, text: str, *, account: str = OURS, adds: str = "x"
) -> store.OperationRow:
    message = {"action": {"addTags": [adds]}, "filter": text}
    request = BatchRequest(message, [text], by_admin=False)
    return store.create(account, request, None, 1, tx)


@each(
    ("text", "name", "state"),
    {
        "in a prefix": ('tags:"cust*"', "custom", State.RUNNING),
        "out of a prefix": ('NOT tags:"CUST*"', "client", State.FAILED),
        "into a prefix": ('NOT tags:"CLI*"', "Client", State.FAILED),
        "any tag": ("NOT tags:*", "client", State.RUNNING),
        "to a name": ("tags:customer OR tags:CLIENT", "client", State.FAILED),
        "in another case": ('tags:"cust*" OR tags:customer', "Customer", State.RUNNING),
        "another tag": ("tags:vip", "client", State.RUNNING),
    },
)
def test_operation_ends_if_a_renamed_tag_comes_under_its_filter_or_leaves_it(
    tx: Transaction, text: str, name: str, state: State
) -> None:
    operation = start(tx, text)

    FILTERS.rename_tag(OURS, "customer", name, tx)

    assert store.find(OURS, operation.id, tx).state == state
    store.cancel(OURS, operation.id, tx)


def test_filter_and_action_follow_a_renamed_tag(tx: Transaction) -> None:
    theirs = start(tx, "tags:customer", account=THEIRS)
    ours = start(tx, 'NOT tags:"Customer"', adds="CUSTOMER")

    FILTERS.rename_tag(OURS, "customer", "client", tx)

    text = 'NOT tags:"client"'
    batch = store.find(OURS, ours.id, tx).batch
    assert (batch.filter, batch.texts, batch.value) == (text, [text], ["client"])
    assert store.find(THEIRS, theirs.id, tx) == theirs


@each(
    ("text", "value", "converted", "state"),
    {
        "in the filter": ("customFields.plan = 5", None, None, State.FAILED),
        "in the action": (
            "tags:vip",
            {"plan": "5", "x": "5"},
            {"plan": 5, "x": "5"},
            State.RUNNING,
        ),
        "removed by the action": ("tags:vip", {"plan": None}, {"plan": None}, State.RUNNING),
        "not exact": ("tags:vip", {"plan": "05"}, {"plan": "05"}, State.FAILED),
        "another field": ("customFields.x = 5", {"x": "05"}, {"x": "05"}, State.RUNNING),
    },
)
def test_operation_on_a_field_whose_type_changes_is_converted_or_ends(
    tx: Transaction, text: str, value: Any, converted: Any, state: State
) -> None:
    action = {"addTags": ["x"]} if value is None else {"setCustomFields": value}
    request = BatchRequest({"action": action, "filter": text}, [text], by_admin=False)
    operation = store.create(OURS, request, None, 1, tx)

    FILTERS.change_custom_field_type(OURS, "plan", DataType.NUMBER, tx)

    found = store.find(OURS, operation.id, tx)
    assert found.state == state
    assert value is None or found.batch.value == converted
    store.cancel(OURS, operation.id, tx)


CHANGES: dict[str, Callable[[Transaction], object]] = {
    "tag renamed": lambda tx: FILTERS.rename_tag(OURS, "customer", "client", tx),
    "tag deleted": lambda tx: FILTERS.release_tag(OURS, "customer", tx, force=False),
    "field converted": lambda tx: FILTERS.change_custom_field_type(
        OURS, "plan", DataType.NUMBER, tx
    ),
    "field deleted": lambda tx: FILTERS.release_custom_field(OURS, "plan", tx, force=False),
    "segment changed": lambda tx: FILTERS.change_segment(OURS, tx),
    "segment deleted": lambda tx: FILTERS.release_segment(OURS, MISSING_ID, tx),
    "nothing": lambda _: None,
    "in another account": lambda tx: FILTERS.release_tag(THEIRS, "customer", tx, force=False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_operation_ends_if_names_change_between_its_count_and_its_creation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    async def scenario() -> pb.Operation:
        database = SqliteDatabase(tmp_path / "roster.db")
        await database.open()
        filters = FilterExpressions(database, SegmentFilters(), system_clock)
        read = filters.conditions

        async def conditions(texts: Sequence[str], segment: str, q: str) -> Any:
            await database.write(lambda tx: CHANGES[change](tx))
            return await read(texts, segment, q)

        monkeypatch.setattr(filters, "conditions", conditions)
        service: Any = OperationService(database, filters, lambda _: None)
        key = await database.write(lambda tx: create_key(OURS, "a key", "admin", "hash", tx))
        by = Actor(ActorType.API_KEY, key.id)
        caller.enter(Caller(OURS, by, "admin", email_verified=True))
        action = pb.BatchAction(delete=True)
        request = pb.BatchChangeSubscribersRequest(filter="NOT tags:customer", action=action)
        try:
            return (await service.BatchChangeSubscribers(request, None)).operation
        finally:
            await database.close()

    operation = asyncio.run(scenario())

    unaffected = change in ("nothing", "in another account")
    assert operation.state == (State.RUNNING if unaffected else State.FAILED)
    assert operation.done is not unaffected
