"""Subscribers with suppressed addresses, as the service of suppressions needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ...storage.transaction import Transaction
from .rules import Reason


class SuppressedSubscribers(Protocol):
    """Changes subscribers after a change of the suppression of their address.

    This package cannot import the subscribers.
    """

    def opt_out(
        self,
        account_id: str,
        reasons: Mapping[str, Reason],
        tx: Transaction,
        *,
        is_import: bool,
    ) -> int:
        """Gives the subscribers with these addresses the stricter statuses of the reasons.

        Returns the number of subscribers with a new status.
        """

    def record_lifted(self, account_id: str, email_key: str, reason: str, tx: Transaction) -> None:
        """Adds an entry to the history of the subscriber with an address, if there is one."""
