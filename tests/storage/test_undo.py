"""Steps of an undo: what they change, repeated or interrupted, also of an import."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.operations import store
from rosterd.server.features.operations.rules import BatchRequest, State, UndoRequest
from rosterd.server.features.operations.store import OperationRow
from rosterd.server.features.operations.store_steps import StepResult, Steps
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import EntryType, Source
from rosterd.server.features.subscribers.row_writer import OnConflict, RowWriter
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.subscribers.store_history import entries_of_each
from rosterd.server.features.subscribers.store_reading import find, find_or_none
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.webhooks.delivery.store_replays import ReplayStore
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import Ids

from .helpers import OURS, SUBSCRIBERS, SUPPRESSIONS, email, field, new, profile

STEPS = Steps(SUPPRESSIONS, ReplayStore())
LIMIT = 100


def run(row: OperationRow, tx: Transaction, size: int = LIMIT) -> OperationRow:
    """Runs an operation to its end, in steps of a size, and returns it."""
    result = StepResult.CONTINUES
    while result is StepResult.CONTINUES:
        selection = STEPS.select_next(OURS, "", size, tx)
        assert selection is not None
        result, *_ = STEPS.run(OURS, selection, "", tx)
    tx.operation_id = ""
    return store.find(OURS, row.id, tx)


def batch(action: dict[str, Any], total: int, tx: Transaction) -> OperationRow:
    request = BatchRequest({"action": action, "filter": "email:*"}, ["email:*"], by_admin=True)
    return run(store.create(OURS, request, None, total, tx), tx)


def start_undo(operation: OperationRow, tx: Transaction, **request: Any) -> OperationRow:
    request = {"by_admin": True, "revision": operation.batch.revision, **request}
    undo = UndoRequest(operation.id, operation.created_at, **request)
    return store.create_undo(OURS, undo, operation.changed or 0, tx)


def counts(row: OperationRow) -> tuple[int | None, int | None, dict[str, int]]:
    failed = {each["reason"]: each["total"] for each in row.failures.as_json()}
    return row.changed, row.unchanged, failed


def test_steps_can_be_repeated_and_skip_who_was_not_changed(tx: Transaction) -> None:
    names = ("ada", "bob", "eve", "kim", "lee")
    ids = [SUBSCRIBERS.create(OURS, new(name), tx).id for name in names]
    SUBSCRIBERS.update(OURS, ids[4], Changes(tags={"vip": "vip"}), tx)
    operation = batch({"addTags": ["vip"]}, 5, tx)
    later = SUBSCRIBERS.create(OURS, new("max", "vip"), tx).id
    undo = start_undo(operation, tx)
    step = STEPS.select_next(OURS, "", 3, tx)
    assert step is not None

    for _ in range(2):
        assert STEPS.run(OURS, step, "", tx).result is StepResult.CONTINUES

    assert store.find(OURS, undo.id, tx).processed == 3
    undone = run(undo, tx, size=3)
    assert (undone.state, undone.total, undone.processed) == (State.SUCCEEDED, 4, 4)
    assert counts(undone) == (4, 0, {})
    tags = [find(OURS, id_, tx).tags for id_ in (*ids, later)]
    assert tags == [(), (), (), (), ("vip",), ("vip",)]
    entries = entries_of_each(OURS, ids, (EntryType.TAGS_CHANGED,), tx)
    assert [len(entries[id_]) for id_ in ids] == [2, 2, 2, 2, 1]


def test_an_undo_that_was_canceled_is_continued_by_another(tx: Transaction) -> None:
    ids = [SUBSCRIBERS.create(OURS, new(name), tx).id for name in ("ada", "bob", "eve")]
    operation = batch({"addTags": ["vip"]}, 3, tx)
    first = start_undo(operation, tx)
    step = STEPS.select_next(OURS, "", 1, tx)
    assert step is not None
    STEPS.run(OURS, step, "", tx)
    assert store.find(OURS, operation.id, tx).undone_by == first.id

    store.cancel(OURS, first.id, tx)

    assert store.find(OURS, operation.id, tx).undone_by is None
    second = run(start_undo(operation, tx), tx)
    assert counts(second) == (2, 1, {})
    assert [find(OURS, id_, tx).tags for id_ in ids] == [(), (), ()]
    assert store.find(OURS, operation.id, tx).undone_by == second.id


def test_values_are_compared_and_returned_after_the_type_of_the_field_changed(
    tx: Transaction,
) -> None:
    text_field = field(OURS, tx, "plan")
    ids = [
        SUBSCRIBERS.create(OURS, new(name, values={"plan": "41"}), tx).id for name in ("ada", "bob")
    ]
    operation = batch({"setCustomFields": {"plan": "42"}}, 2, tx)
    # As a conversion to NUMBER leaves them.
    custom_fields.delete(OURS, text_field, tx)
    field(OURS, tx, "plan", "Plan as a number", data_type=DataType.NUMBER)
    for id_, number in zip(ids, (42.0, 43.0), strict=True):
        SUBSCRIBERS.update(OURS, id_, Changes(values={"plan": number}), tx)

    undone = run(start_undo(operation, tx), tx)

    assert counts(undone) == (1, 0, {"CHANGED_SINCE": 1})
    assert [find(OURS, id_, tx).values for id_ in ids] == [{"plan": 41.0}, {"plan": 43.0}]


def imported(rows: list[NewSubscriber], tx: Transaction) -> OperationRow:
    """Imports rows as an operation does, and returns one with its ID and start."""
    request = BatchRequest({"action": {"addTags": []}}, [], by_admin=True)
    operation = store.create(OURS, request, [], 0, tx)
    tx.operation_id = operation.id
    writer = RowWriter(OURS, OnConflict.UPDATE, SUBSCRIBERS, Source.IMPORT)
    results = writer.store_rows(rows, tx)
    tx.operation_id = ""
    row = operation._replace(changed=len(results))
    return store.end(OURS, row, State.SUCCEEDED, tx)


def row_of(name: str, status: Status, *tags: str, first_name: str = "Ada") -> NewSubscriber:
    row = new(name, *tags, status=status)
    return row._replace(has_status=True, profile=profile(first_name))


def test_undo_of_an_import_deletes_who_it_created_and_keeps_the_opt_outs_of_the_file(
    tx: Transaction,
) -> None:
    for name in ("updated", "opted-out"):
        SUBSCRIBERS.create(OURS, new(name, "old"), tx)
    operation = imported(
        [
            row_of("created", Status.CONFIRMED, "vip"),
            row_of("created-opt-out", Status.UNSUBSCRIBED),
            row_of("changed", Status.CONFIRMED),
            row_of("updated", Status.CONFIRMED, "vip", first_name="Eve"),
            row_of("opted-out", Status.UNSUBSCRIBED, "vip"),
        ],
        tx,
    )
    SUBSCRIBERS.create(OURS, new("other"), tx)
    changed = find(OURS, email("changed"), tx)
    SUBSCRIBERS.update(OURS, changed.id, Changes(tags={"mine": "mine"}), tx)

    for dry_run in (True, False):
        undone = run(start_undo(operation, tx, is_of_import=True, dry_run=dry_run), tx)
        assert counts(undone) == (4, 0, {"CHANGED_SINCE": 1, "OPT_OUT_KEPT": 1})

    assert find_or_none(OURS, email("created"), tx) is None
    assert find_or_none(OURS, email("created-opt-out"), tx) is None
    assert SUPPRESSIONS.find_or_none(OURS, email("created-opt-out").key, tx) is not None
    assert SUPPRESSIONS.find_or_none(OURS, email("created").key, tx) is None
    updated, opted_out = (find(OURS, email(name), tx) for name in ("updated", "opted-out"))
    assert (updated.first_name, updated.tags) == ("Ada", ("old",))
    assert (opted_out.status, opted_out.tags) == (Status.UNSUBSCRIBED, ("old",))
    assert find(OURS, email("changed"), tx).tags == ("mine",)
    assert find_or_none(OURS, email("other"), tx) is not None


def test_undo_leaves_a_status_that_changed_since_whatever_the_clocks_of_processes_show(
    tx: Transaction,
) -> None:
    id_ = SUBSCRIBERS.create(OURS, new("ada"), tx).id
    operation = batch({"changeStatus": "UNSUBSCRIBED"}, 1, tx)
    # The clock of another process is behind: its entries of the history have lesser IDs.
    own, tx._ids = tx._ids, Ids(lambda: tx.now - 60_000)
    for status in (Status.CONFIRMED, Status.UNSUBSCRIBED):
        change_status(OURS, id_, status, tx, by_admin=True, suppressions=SUPPRESSIONS)
    tx._ids = own
    (history,) = entries_of_each(OURS, [id_], (EntryType.STATUS_CHANGED,), tx).values()
    assert history[-1].operation_id == operation.id

    undone = run(start_undo(operation, tx), tx)

    assert counts(undone) == (0, 0, {"CHANGED_SINCE": 1})
    assert find(OURS, id_, tx).status == Status.UNSUBSCRIBED


def test_a_suppressed_address_stays_opted_out(tx: Transaction) -> None:
    id_ = SUBSCRIBERS.create(OURS, new("ada"), tx).id
    operation = batch({"changeStatus": "UNSUBSCRIBED"}, 1, tx)
    SUPPRESSIONS.add(OURS, [NewSuppression(email("ada").key, Reason.MANUAL)], tx)

    undone = run(start_undo(operation, tx), tx)

    assert counts(undone) == (0, 0, {"SUBSCRIBER_SUPPRESSED": 1})
    assert find(OURS, id_, tx).status == Status.UNSUBSCRIBED


def test_a_program_of_an_earlier_version_does_not_run_an_undo(tx: Transaction) -> None:
    SUBSCRIBERS.create(OURS, new("ada"), tx)
    undo = start_undo(batch({"addTags": ["vip"]}, 1, tx), tx)

    # It takes it for a replay, whose position is a number.
    stored = orjson.loads(undo.request)

    assert stored["replay"] == {"webhookId": ""}
    with pytest.raises(ValueError, match="invalid literal"):
        int(undo.after_id)
