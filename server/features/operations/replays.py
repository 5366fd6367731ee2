"""Replays of events to a webhook, as the runner of operations needs them."""

from __future__ import annotations

from typing import Protocol

from ...storage.transaction import Transaction
from .rules import ReplayRequest


class Replays(Protocol):
    """Creates the deliveries of replays. This package cannot import the webhooks."""

    def is_waiting(self, account_id: str, webhook_id: str, tx: Transaction) -> bool:
        """Whether many deliveries to a webhook are due, so that its replays wait."""

    def deliver(
        self,
        account_id: str,
        operation_id: str,
        request: ReplayRequest,
        after: int,
        until: int,
        tx: Transaction,
    ) -> int:
        """Creates the deliveries of a range of events, excluding `after`; returns their number.

        Raises WebhookNotFound.
        """
