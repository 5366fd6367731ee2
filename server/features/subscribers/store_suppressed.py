"""Changes subscribers after a change of the suppression of their address."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage.transaction import Transaction
from ..suppressions.rules import Reason
from .fields import Status
from .history import Source, lifted
from .rules import STATUS_OF_REASON, is_stricter
from .store_changes import change_status
from .store_history import add_history
from .store_reading import find, ids_by_address
from .store_repeated import record_repeated_opt_outs


class SuppressedSubscriberStore:
    """Implements `suppressions.subscribers.SuppressedSubscribers`."""

    def opt_out(
        self,
        account_id: str,
        reasons: Mapping[str, Reason],
        tx: Transaction,
        *,
        is_import: bool,
    ) -> int:
        source, changed = Source.IMPORT if is_import else Source.API, 0
        for email_key, subscriber_id in ids_by_address(account_id, reasons, tx).items():
            status = STATUS_OF_REASON[reasons[email_key]]
            row = find(account_id, subscriber_id, tx)
            if is_stricter(status, Status(row.status)):
                change_status(account_id, subscriber_id, status, tx, source, by_admin=False)
                changed += 1
            else:
                record_repeated_opt_outs(account_id, [row], status, source, tx)
        return changed

    def record_lifted(self, account_id: str, email_key: str, reason: str, tx: Transaction) -> None:
        ids = ids_by_address(account_id, [email_key], tx).values()
        add_history(account_id, [(each, [lifted(reason)]) for each in ids], tx)
