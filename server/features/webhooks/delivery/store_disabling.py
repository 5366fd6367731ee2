"""Disables a webhook whose endpoint keeps failing, and records the event for the other webhooks."""

from __future__ import annotations

from typing import Any

from ....storage.statements import Statement, params
from ....storage.transaction import Transaction
from ...events.rules import Change, EventType
from ...events.store import record
from ..endpoints.store_reading import ONE, find_or_none
from ..models import Webhook
from ..rules import DisabledReason
from . import store_queue

_DISABLE = Statement(
    lambda _: Webhook.update(
        params(Webhook.enabled, Webhook.disabled_reason, Webhook.updated_at)
    ).where(ONE)
)


def disable(account_id: str, webhook_id: str, reason: DisabledReason, tx: Transaction) -> None:
    """Disables a failing webhook. Its pending deliveries stay pending.

    Does nothing if the webhook was disabled or deleted, or if a change of its URL or enabling it
    has reset its failures.
    """
    store_queue.lock(account_id, tx)
    before = find_or_none(account_id, webhook_id, tx)
    if before is None or not before.enabled or not before.failures:
        return
    changes: dict[str, Any] = {
        "enabled": False,
        "disabled_reason": int(reason),
        "updated_at": tx.now,
    }
    tx.run(_DISABLE, account_id=account_id, id=webhook_id, **changes)
    change = Change(EventType.WEBHOOK_DISABLED, before, before._replace(**changes))
    record(account_id, [change], tx)
