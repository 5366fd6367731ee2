"""Tests the webhook store: health, secrets, changes and test deliveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from peewee import SQL

from rosterd.server.features.events import store_reading as events
from rosterd.server.features.events.rules import EventType
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery import store_expansion
from rosterd.server.features.webhooks.delivery.store_expansion import endpoints_of, expand
from rosterd.server.features.webhooks.delivery.store_queue import Queue, lock
from rosterd.server.features.webhooks.delivery.store_results import disable
from rosterd.server.features.webhooks.delivery.store_test_deliveries import begin
from rosterd.server.features.webhooks.endpoints.store_reading import WebhookRow, find
from rosterd.server.features.webhooks.rules import (
    LEASE_DURATION,
    MAX_IN_FLIGHT_PER_ENDPOINT,
    OLD_SECRET_VALIDITY,
    DisabledReason,
)
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from .helpers import OURS, select


@dataclass
class SequentialSecrets:
    """Returns ascending numbers in place of encrypted secrets."""

    count: int = 0

    def __call__(self, _: str) -> bytes:
        self.count += 1
        return b"secret %d" % self.count


def create(tx: Transaction, account: str = OURS, **fields: Any) -> WebhookRow:
    defaults = {
        "url": "https://example.com/",
        "description": "",
        "event_types": (),
        "enabled": True,
    }
    return store.create(
        account, store.NewWebhook(**{**defaults, **fields}), SequentialSecrets(), tx
    )


def fail(row: WebhookRow, tx: Transaction) -> WebhookRow:
    """Sets the health of an endpoint to failing, and returns the webhook."""
    health = "failures = 7, failing_since = 5, paused_until = 9"
    tx.run(Statement(lambda _: SQL(f"UPDATE webhook SET {health} WHERE id = '{row.id}'")))
    return find(OURS, row.id, tx)


def deliveries(tx: Transaction) -> list[tuple[str, str]]:
    """Returns the webhook and event type of each delivery, oldest first."""
    rows = select("SELECT webhook_id, event_type FROM delivery ORDER BY id", tx)
    return [(webhook_id, event_type) for webhook_id, event_type in rows]


@pytest.mark.parametrize(
    "change",
    [{"enabled": True}, {"enabled": True, "url": "https://example.org/"}],
    ids=["enabled", "enabled with another url"],
)
def test_enabling_a_webhook_resets_its_health(tx: Transaction, change: dict[str, Any]) -> None:
    row = fail(create(tx), tx)
    disable(OURS, row.id, DisabledReason.FAILING, tx)
    assert find(OURS, row.id, tx).disabled_reason == DisabledReason.FAILING

    changed = store.update(OURS, row.id, change, tx)

    assert changed == find(OURS, row.id, tx)
    assert changed.health == (0, None, 0)
    assert (changed.enabled, changed.disabled_reason) == (True, DisabledReason.NONE)
    assert lock(OURS, tx).due_at == tx.now
    assert tx.accounts_to_notify == {OURS}


def test_new_url_resets_the_health_and_wakes_the_queue(tx: Transaction) -> None:
    row = fail(create(tx), tx)

    moved = store.update(OURS, row.id, {"url": "https://example.org/"}, tx)

    assert moved.health == (0, None, 0)
    assert lock(OURS, tx).due_at == tx.now


@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"description": "x"}, {"event_types": ("tag.*",)}], ids=str
)
def test_other_changes_keep_the_health(tx: Transaction, change: dict[str, Any]) -> None:
    row = fail(create(tx), tx)

    changed = store.update(OURS, row.id, change, tx)

    assert changed == row._replace(**change, updated_at=tx.now)
    assert lock(OURS, tx) == Queue(expanded_sequence=0, due_at=None, attempts=0, last_sequence=0)


@pytest.mark.parametrize(
    ("change", "later"),
    [
        ({"enabled": False}, []),
        ({"event_types": ("subscriber.*",)}, []),
        ({"event_types": ("tag.created",)}, [EventType.TAG_CREATED]),
    ],
    ids=str,
)
def test_change_expands_a_limited_number_of_pending_events(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], later: list[str]
) -> None:
    monkeypatch.setattr(store_expansion, "MAX_PENDING_EVENTS", 2)
    row = create(tx)
    for name in ("first", "second", "third"):
        tags.create(OURS, name, "", tx)

    store.update(OURS, row.id, change, tx)

    expanded = [(row.id, EventType.TAG_CREATED)] * 2
    assert deliveries(tx) == expanded
    # The other events are expanded with the changed settings.
    expand(OURS, lock(OURS, tx), endpoints_of(OURS, tx), tx)
    assert deliveries(tx) == [*expanded, *((row.id, event_type) for event_type in later)]


def test_webhook_gets_no_events_from_before_it_was_created_or_enabled(tx: Transaction) -> None:
    first, enabled = create(tx), create(tx, enabled=False)
    tag = tags.create(OURS, "old", "", tx)
    store.update(OURS, enabled.id, {"enabled": True}, tx)
    created = create(tx)
    tags.delete(OURS, tag.id, tx)

    expand(OURS, lock(OURS, tx), endpoints_of(OURS, tx), tx)

    assert sorted(deliveries(tx)) == [
        (first.id, EventType.TAG_CREATED),
        *((row.id, EventType.TAG_DELETED) for row in (first, enabled, created)),
    ]


def test_two_secrets_sign_after_a_rotation_and_never_three(tx: Transaction) -> None:
    row = create(tx)
    assert row.secrets_at(tx.now) == [b"secret 1"]

    for name in (b"second", b"third"):
        row = store.rotate(OURS, row.id, lambda _, name=name: name, tx)

    assert row == find(OURS, row.id, tx)
    assert row.secrets_at(tx.now + OLD_SECRET_VALIDITY - 1) == [b"third", b"second"]
    assert row.secrets_at(tx.now + OLD_SECRET_VALIDITY) == [b"third"]


def test_disabling_publishes_one_event_with_previous_values(tx: Transaction) -> None:
    row, other = fail(create(tx), tx), create(tx)

    for _ in range(2):
        disable(OURS, row.id, DisabledReason.GONE, tx)
    store.delete(OURS, other.id, tx)
    disable(OURS, other.id, DisabledReason.GONE, tx)

    after = find(OURS, row.id, tx)
    assert after == row._replace(
        enabled=False, disabled_reason=DisabledReason.GONE, updated_at=tx.now
    )
    (event,), total, _ = events.page(OURS, events.Filter(), Page(1, 20), tx, descending=False)
    assert total == 1
    assert '"disabledReason":"GONE"' in event.envelope
    assert '"previous":{"enabled":true' in event.envelope


def test_test_deliveries_whose_leases_ended_do_not_count(tx: Transaction) -> None:
    row = create(tx)
    for _ in range(MAX_IN_FLIGHT_PER_ENDPOINT):
        begin(OURS, row.id, tx)
    tx.run(Statement(lambda _: SQL(f"UPDATE delivery SET due_at = due_at - {LEASE_DURATION}")))

    begin(OURS, row.id, tx)
