"""Stateful test of webhooks on both databases: events, deliveries and replays."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from rosterd.server.features.events import store_reading as events
from rosterd.server.features.webhooks import store
from rosterd.server.features.webhooks.delivery import store_replays
from rosterd.server.features.webhooks.delivery.store_leases import LeasedDelivery
from rosterd.server.features.webhooks.delivery.store_replays import ReplayFilter
from rosterd.server.features.webhooks.delivery.store_results import (
    FinishedAttempt,
    disable,
    run_cycle,
)
from rosterd.server.features.webhooks.endpoints.store_reading import page
from rosterd.server.features.webhooks.rules import MAX_IN_FLIGHT_PER_ACCOUNT, RETRY_DELAYS
from rosterd.server.features.webhooks.store import NewWebhook
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.ids import first_id_at

from .differential import DatabaseComparison
from .helpers import OURS, select

URL = "https://example.com/"
ALL = Page(1, 10_000)
NUMBERS = st.integers(0, 5)
TYPES = st.sampled_from([(), ("tag.*",), ("subscriber.created", "webhook.*")])
RESPONSES = st.sampled_from([200, 410, 503])
DELAYS = st.sampled_from([0, 1, *RETRY_DELAYS])
KEYS = {
    "webhook": "id",
    "webhook_replay": "id",
    "delivery": "id",
    "delivery_attempt": "place",
    "delivery_queue": "account_id",
}


class WebhookComparison(DatabaseComparison):
    """Both databases with webhooks. Dispatching their deliveries is a separate step."""

    def __init__(self) -> None:
        super().__init__()
        self.in_flight: list[LeasedDelivery] = []
        # The number of events after the last step, and whether the current step creates any.
        self.events, self.is_new = 0, False

    @initialize(has_webhook=st.sampled_from([True, True, True, False]))
    def begin(self, has_webhook: bool) -> None:
        self.open()
        if has_webhook:
            self.add_webhook(())

    def webhooks(self) -> list[str]:
        """Returns the IDs of the webhooks."""
        rows, _ = self.same(lambda tx: page(OURS, ALL, tx))
        return [row.id for row in rows]

    def webhook(self, number: int) -> str:
        """Returns the ID of a webhook, or an unknown ID if there is none."""
        ids = self.webhooks()
        return ids[number % len(ids)] if ids else "0" * 26

    @rule(types=TYPES)
    def add_webhook(self, types: tuple[str, ...]) -> None:
        new = NewWebhook(URL, "", types, enabled=True)
        self.same(lambda tx: store.create(OURS, new, str.encode, tx))

    @rule(number=NUMBERS, enabled=st.booleans(), types=TYPES)
    def change_webhook(self, number: int, enabled: bool, types: tuple[str, ...]) -> None:
        webhook_id, changes = self.webhook(number), {"enabled": enabled, "event_types": types}
        self.same(lambda tx: store.update(OURS, webhook_id, changes, tx))

    @rule(number=NUMBERS)
    def delete_webhook(self, number: int) -> None:
        webhook_id = self.webhook(number)
        self.same(lambda tx: store.delete(OURS, webhook_id, tx))

    @rule(number=NUMBERS, types=TYPES, only_failed=st.booleans())
    def replay(self, number: int, types: tuple[str, ...], only_failed: bool) -> None:
        webhook_id = self.webhook(number)
        replay_filter = ReplayFilter(first_id_at(0), None, list(types), only_failed)
        self.same(lambda tx: store_replays.create(OURS, webhook_id, replay_filter, tx))

    @rule(status=RESPONSES, seconds=DELAYS)
    def dispatch(self, status: int, seconds: int) -> None:
        """Stores the results of all leased deliveries, and leases due ones."""
        for tx in self.both:
            tx.now += seconds * 1000
        finished = [finished_attempt(leased, status) for leased in self.in_flight]
        recorded, batch = self.same(
            lambda tx: run_cycle(OURS, finished, MAX_IN_FLIGHT_PER_ACCOUNT, tx)
        )
        self.in_flight = batch.deliveries
        for webhook_id, reason in recorded.to_disable.items():
            self.same(lambda tx, id_=webhook_id, why=reason: disable(OURS, id_, why, tx))
        self.same(deliveries)

    @invariant()
    def both_have_the_same_events_without_a_gap(self) -> None:
        rows, _ = self.same(
            lambda tx: events.page(OURS, events.Filter(), ALL, tx, descending=False)
        )
        assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
        if self.is_new or len(rows) != self.events:
            assert (len(rows) > self.events) == bool(self.webhooks()), (
                "events are recorded if there is a webhook"
            )
        self.events, self.is_new = len(rows), False


def finished_attempt(leased: LeasedDelivery, status: int) -> FinishedAttempt:
    """Returns the result of an attempt without a duration."""
    error = "" if status == 200 else f"answered {status}"
    return FinishedAttempt(leased.delivery, 0, 0, status, error, "", None, 0.5, URL)


def deliveries(tx: Transaction) -> dict[str, list[tuple[Any, ...]]]:
    """Returns all rows of webhooks, deliveries and replays."""
    return {
        table: select(f"SELECT * FROM {table} WHERE account_id = '{OURS}' ORDER BY {key}", tx)
        for table, key in KEYS.items()
    }
