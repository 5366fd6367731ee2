"""Disabling a webhook that there is no hope for, and telling the account's others of it."""

from __future__ import annotations

from ...events.rules import Change, EventType
from ...events.store import record
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import COLUMNS, row_of
from ..models import Webhook
from ..rules import DisabledReason
from . import store_queue

_ONE = (Webhook.account_id == param("account_id")) & (Webhook.id == param("id"))
_FIND = Statement(lambda _: Webhook.select(*COLUMNS).where(_ONE))
_DISABLE = Statement(
    lambda _: Webhook.update(
        {
            Webhook.enabled: param("enabled"),
            Webhook.disabled_reason: param("reason"),
            Webhook.updated_at: param("updated_at"),
        }
    ).where(_ONE)
)


def disable(account_id: str, webhook_id: str, reason: DisabledReason, tx: Transaction) -> None:
    """Disables a webhook that fails. What is pending waits.

    Nothing is done if it is disabled or deleted, and if somebody has changed where it is, or
    enabled it again, since it failed: then it begins anew.
    """
    store_queue.lock(account_id, tx)
    found = tx.one(_FIND, account_id=account_id, id=webhook_id)
    if found is None:
        return
    before = row_of(found)
    if not before.enabled or not before.failures:
        return
    after = before._replace(enabled=False, disabled_reason=int(reason), updated_at=tx.now)
    tx.run(
        _DISABLE,
        account_id=account_id,
        id=webhook_id,
        enabled=False,
        reason=after.disabled_reason,
        updated_at=tx.now,
    )
    record(account_id, [Change(EventType.WEBHOOK_DISABLED, before, after)], tx)
