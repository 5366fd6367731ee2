"""Running operations that filter by a tag or custom field, when it is renamed or deleted."""

from __future__ import annotations

from server.operations import store
from server.operations.rules import ActionKind, BatchRequest, State
from server.operations.store_filters import OperationFilters
from server.operations.store_steps import select_next
from server.storage.transaction import Transaction

from ..cases import each
from .helpers import OURS, SUBSCRIBERS, THEIRS, new

FILTERS = OperationFilters()


def start(
    tx: Transaction, text: str, *, account: str = OURS, adds: str = "x"
) -> store.OperationRow:
    request = BatchRequest(
        ActionKind.ADD_TAGS, [adds], text, "", [text], dry_run=False, key_id="", by_admin=False
    )
    return store.create(account, request, None, 1, tx)


def test_filter_and_action_follow_a_renamed_tag(tx: Transaction) -> None:
    SUBSCRIBERS.create_many(OURS, {0: new("ada", "client")}, tx)
    theirs = start(tx, "tags:customer", account=THEIRS)
    ours = start(tx, 'NOT tags:"Customer"', adds="CUSTOMER")

    FILTERS.rename_tag(OURS, "customer", "client", tx)

    selection = select_next(OURS, "", 10, tx)
    assert selection is not None
    assert (selection.operation_id, selection.ids) == (ours.id, [])
    batch = store.find(OURS, ours.id, tx).batch
    assert (batch.filter, batch.value) == ('NOT tags:"client"', ["client"])
    assert store.find(THEIRS, theirs.id, tx) == theirs


@each("text", ("NOT tags:Customer", "customFields.plan != pro OR tags:x"))
def test_operation_ends_if_its_filter_names_what_is_deleted(tx: Transaction, text: str) -> None:
    named, other = start(tx, text), start(tx, "tags:vip OR customFields.score > 1")

    FILTERS.release_tag(OURS, "customer", tx, force=False)
    FILTERS.release_custom_field(OURS, "plan", tx, force=False)

    ended, running = store.find(OURS, named.id, tx), store.find(OURS, other.id, tx)
    assert (ended.state, ended.ended_at) == (State.FAILED, tx.now)
    assert running == other
