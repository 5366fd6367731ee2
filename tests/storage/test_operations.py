"""Steps of operations: what they select and change, and what they leave to other processes."""

from __future__ import annotations

import orjson
import pytest
from peewee import SQL

from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.operations import rules, store, store_lists
from rosterd.server.features.operations.rules import BatchRequest, State
from rosterd.server.features.operations.store import OperationRow
from rosterd.server.features.operations.store_filters import PUT_REQUEST
from rosterd.server.features.operations.store_steps import (
    LEASE_MILLISECONDS,
    Selection,
    StepResult,
    Steps,
)
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.models import Subscriber
from rosterd.server.features.subscribers.query.conditions import conditions_of
from rosterd.server.features.subscribers.query.syntax import parse
from rosterd.server.features.subscribers.rules import ConsentRecord
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_reading import IN_ACCOUNT, find
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.rpc.errors import OperationLimitReached, ValidationError
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.statements import Statement, param
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import first_id_at

from ..behavior.helpers import MISSING_ID
from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, email, field, new

PAST = 1_577_836_800_000
_OF_EARLIER_VERSION = Statement(
    lambda _: Subscriber.update({Subscriber.inserted_revision: SQL("0")}).where(
        IN_ACCOUNT & (Subscriber.id == param("id"))
    )
)
STEPS = Steps(SUPPRESSIONS, ReplayStore())
ONE, OTHER = "one process", "another process"
LIMIT = 100


def request(text: str = "email:*", tag: str = "vip") -> BatchRequest:
    message = {"action": {"addTags": [tag]}, "filter": text}
    return BatchRequest(message, [text], by_admin=False)


def start(tx: Transaction, text: str = "email:*", tag: str = "vip") -> OperationRow:
    return store.create(OURS, request(text, tag), None, 0, tx)


def select(tx: Transaction, runner: str = ONE) -> Selection:
    selection = STEPS.select_next(OURS, runner, LIMIT, tx)
    assert selection is not None
    return selection


def names_with(tx: Transaction, tag: str, *names: str) -> list[str]:
    return [name for name in names if tag in find(OURS, email(name), tx).tags]


def test_a_step_changes_only_subscribers_that_still_match(tx: Transaction) -> None:
    for name in ("ada", "bob"):
        SUBSCRIBERS.create(OURS, new(name, "news"), tx)
    operation = start(tx, "tags:news")
    selection = select(tx)
    SUBSCRIBERS.delete(OURS, email("bob"), tx)
    SUBSCRIBERS.create(OURS, new("eve", "news"), tx)

    assert STEPS.run(OURS, selection, ONE, tx).result is StepResult.ENDED

    assert names_with(tx, "vip", "ada", "eve") == ["ada"]
    row = store.find(OURS, operation.id, tx)
    assert (row.state, row.processed) == (State.SUCCEEDED, 1)


def test_an_operation_does_not_end_an_opt_out_after_its_start(tx: Transaction) -> None:
    for name in ("ada", "bob", "eve"):
        SUBSCRIBERS.create(OURS, new(name), tx)
    change_status(OURS, email("bob"), Status.UNSUBSCRIBED, tx, by_admin=False)
    message = {"action": {"changeStatus": "CONFIRMED"}, "filter": "email:*"}
    batch = BatchRequest(message, ["email:*"], by_admin=True)
    operation = store.create(OURS, batch, None, 0, tx)
    for name, status in (("ada", Status.COMPLAINED), ("eve", Status.UNSUBSCRIBED)):
        change_status(OURS, email(name), status, tx, by_admin=False)

    STEPS.run(OURS, select(tx), ONE, tx)

    statuses = [find(OURS, email(name), tx).status for name in ("ada", "bob", "eve")]
    assert statuses == [Status.COMPLAINED, Status.CONFIRMED, Status.UNSUBSCRIBED]
    reasons = store.find(OURS, operation.id, tx).failures.as_json()
    assert [(each["reason"], each["total"]) for each in reasons] == [
        ("INVALID_STATUS_TRANSITION", 2)
    ]


def imported(name: str, tx: Transaction) -> str:
    """Stores a subscriber who was created in the past, and returns the ID."""
    row = new(name)._replace(consent_record=ConsentRecord(created_at=PAST))
    return SUBSCRIBERS.create_many(OURS, {0: row}, tx).ids[0]


@pytest.mark.parametrize("later", ["created", "imported", "imported after a deletion"])
def test_subscribers_inserted_after_the_start_are_not_changed(tx: Transaction, later: str) -> None:
    imported("bob", tx)
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    operation = start(tx)
    if later == "created":
        SUBSCRIBERS.create(OURS, new("eve"), tx)
    else:
        if later.endswith("deletion"):
            SUBSCRIBERS.delete(OURS, email("ada"), tx)
        imported("eve", tx)

    assert STEPS.run(OURS, select(tx), ONE, tx).result is StepResult.ENDED

    names = ["ada", "bob"] if later != "imported after a deletion" else ["bob"]
    assert names_with(tx, "vip", *names, "eve") == names
    assert store.find(OURS, operation.id, tx).processed == len(names)


def test_ids_select_no_subscriber_that_is_inserted_after_the_start(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = SUBSCRIBERS.create(OURS, new("ada"), tx).id
    later = first_id_at(PAST)
    operation = store.create(OURS, request()._replace(texts=[]), [later, ada], 2, tx)
    inserting = "rosterd.server.features.subscribers.store_inserting"
    monkeypatch.setattr(f"{inserting}.ids_at", lambda *_: [later])
    assert imported("eve", tx) == later

    STEPS.run(OURS, select(tx), ONE, tx)

    assert names_with(tx, "vip", "ada", "eve") == ["ada"]
    failures = store.find(OURS, operation.id, tx).failures.as_json()
    assert failures == [{"reason": "SUBSCRIBER_NOT_FOUND", "total": 1, "examples": [later]}]


def test_a_subscriber_with_a_greater_id_than_the_operation_is_changed(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The clocks of two processes differ.
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    monkeypatch.setattr(Transaction, "new_id", lambda _: first_id_at(PAST))
    start(tx)

    STEPS.run(OURS, select(tx), ONE, tx)

    assert names_with(tx, "vip", "ada") == ["ada"]


def test_an_operation_of_an_earlier_version_continues(tx: Transaction) -> None:
    ada = SUBSCRIBERS.create(OURS, new("ada"), tx)
    earlier = start(tx)._replace(failed='{"VALIDATION_ERROR": 2}')
    store.put(OURS, earlier, tx)
    texts = ["email:*", "email:*"]
    stored = orjson.dumps(["addTags", ["old"], "email:*", MISSING_ID, texts, False, "", True])
    tx.run(PUT_REQUEST, account_id=OURS, id=earlier.id, request=stored.decode())
    tx.run(_OF_EARLIER_VERSION, account_id=OURS, id=ada.id)
    for name in ("created", "imported"):
        SUBSCRIBERS.create(OURS, new(name), tx) if name == "created" else imported(name, tx)

    STEPS.run(OURS, select(tx), ONE, tx)

    assert names_with(tx, "old", "ada", "created", "imported") == ["ada"]
    operation = store.find(OURS, earlier.id, tx).as_json()
    assert (operation["action"], operation["filter"]) == ({"addTags": ["old"]}, "email:*")
    assert (operation["segmentId"], operation["dryRun"]) == (MISSING_ID, False)
    assert operation["processed"] == 1
    counts = {"reason": "VALIDATION_ERROR", "total": 2, "examples": []}
    assert operation["failed"] == [counts]


def test_a_stored_request_can_have_more_than_this_version_knows(tx: Transaction) -> None:
    operation = start(tx)
    stored = orjson.loads(operation.request)
    stored["message"]["addedLater"], stored["added later"] = ["x"], 1

    later = operation._replace(request=orjson.dumps(stored).decode())

    assert later.batch._replace(message=operation.batch.message) == operation.batch
    assert later.as_json() == operation.as_json()


def test_a_program_of_an_earlier_version_ends_an_operation_that_excludes_subscribers(
    tx: Transaction,
) -> None:
    excluding = request()
    excluding.message["excludeIds"] = [SUBSCRIBERS.create(OURS, new("ada"), tx).id]
    operation = store.create(OURS, excluding, None, 0, tx)

    # It reads the stored texts as they are, and fails if one is not valid.
    *texts, last = orjson.loads(operation.request)["texts"]

    assert texts == operation.batch.texts == ["email:*"]
    with pytest.raises(ValidationError):
        conditions_of(parse(last), {}, tx.now)


def test_a_repeated_step_changes_nothing(tx: Transaction) -> None:
    ids = [SUBSCRIBERS.create(OURS, new(name), tx).id for name in ("ada", "bob", "eve")]
    operation = start(tx)
    step = select(tx)._replace(ids=ids[:2], is_last=False)

    for _ in range(2):
        assert STEPS.run(OURS, step, ONE, tx).result is StepResult.CONTINUES

    assert store.find(OURS, operation.id, tx).processed == 2
    assert select(tx).ids == ids[2:]


def test_another_process_waits_until_the_lease_ends(tx: Transaction) -> None:
    ids = [SUBSCRIBERS.create(OURS, new(name), tx).id for name in ("ada", "bob")]
    start(tx)
    selection = select(tx)
    STEPS.run(OURS, selection._replace(ids=ids[:1], is_last=False), ONE, tx)

    assert STEPS.select_next(OURS, OTHER, LIMIT, tx) is None
    assert STEPS.run(OURS, selection, OTHER, tx).result is StepResult.TAKEN
    tx.now += LEASE_MILLISECONDS
    assert select(tx, OTHER).ids == ids[1:]
    assert STEPS.run(OURS, select(tx, OTHER), OTHER, tx).result is StepResult.ENDED


def test_operation_of_a_process_with_a_fast_clock_is_continued(tx: Transaction) -> None:
    ids = [SUBSCRIBERS.create(OURS, new(name), tx).id for name in ("ada", "bob")]
    start(tx)
    tx.now += 3_600_000
    STEPS.run(OURS, select(tx)._replace(ids=ids[:1], is_last=False), ONE, tx)

    tx.now -= 3_600_000

    assert select(tx, OTHER).ids == ids[1:]
    assert STEPS.run(OURS, select(tx, OTHER), OTHER, tx).result is StepResult.ENDED


def test_a_canceled_operation_is_not_continued(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    operation = start(tx)
    selection = select(tx)

    store.cancel(OURS, operation.id, tx)

    assert STEPS.run(OURS, selection, ONE, tx).result is StepResult.ENDED
    assert names_with(tx, "vip", "ada") == []
    assert store.find(OURS, operation.id, tx).state == State.CANCELLED


def test_a_filter_that_becomes_invalid_after_the_selection_fails_the_operation(
    tx: Transaction,
) -> None:
    plan = field(OURS, tx, "plan")
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    operation = start(tx, "NOT customFields.plan = pro")
    selection = select(tx)
    custom_fields.delete(OURS, plan, tx)

    assert STEPS.run(OURS, selection, ONE, tx).result is StepResult.ENDED

    assert store.find(OURS, operation.id, tx).state == State.FAILED
    assert names_with(tx, "vip", "ada") == []


def test_an_account_has_a_maximum_of_running_operations(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_RUNNING", 2)
    operation = start(tx)
    start(tx)

    with pytest.raises(OperationLimitReached):
        start(tx)

    store.cancel(OURS, operation.id, tx)
    start(tx)
    assert rules.MAX_RUNNING == 100


def test_ended_operations_are_deleted_after_their_retention(tx: Transaction) -> None:
    ended, _running = start(tx), start(tx)
    store.cancel(OURS, ended.id, tx)
    assert not store.has_old(OURS, tx)

    tx.now += store.RETENTION_MILLISECONDS + 1

    assert store.has_old(OURS, tx)
    assert (store.purge(OURS, tx), store.purge(OURS, tx)) == (1, 0)
    assert store_lists.page(OURS, Page(1, 10), tx)[1] == 1
