"""Creates, changes and deletes webhooks.

The dispatcher changes webhooks under the lock of the account's delivery queue. So these
functions take that lock before they read the webhook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...rpc.errors import WebhookLimitReached
from ...storage.transaction import Transaction
from ..events.store import count_webhooks
from .delivery import store_queue
from .delivery.store_expansion import expand_pending
from .delivery.store_results import end_pause
from .endpoints.store_reading import WEBHOOKS, WebhookRow, count, find
from .rules import HEALTHY, MAX_WEBHOOKS, OLD_SECRET_VALIDITY, DisabledReason

# Encrypts a secret for the webhook with the given ID.
Encrypt = Callable[[str], bytes]


class NewWebhook(NamedTuple):
    """The fields of a new webhook that the client sets."""

    url: str
    description: str
    event_types: tuple[str, ...]
    enabled: bool


def create(account_id: str, new: NewWebhook, encrypt: Encrypt, tx: Transaction) -> WebhookRow:
    """Stores a new webhook, which receives events from now on.

    Raises WebhookLimitReached if the account has MAX_WEBHOOKS webhooks.
    """
    others = count(account_id, tx)
    if others >= MAX_WEBHOOKS:
        raise WebhookLimitReached(MAX_WEBHOOKS)
    sequence = count_webhooks(account_id, others + 1, tx)
    store_queue.ensure(account_id, sequence, tx, is_first=others == 0)
    webhook_id = tx.new_id()
    row = WebhookRow(
        id=webhook_id,
        **new._asdict(),
        disabled_reason=DisabledReason.NONE,
        secret=encrypt(webhook_id),
        old_secret=None,
        old_secret_until=None,
        **HEALTHY._asdict(),
        created_at=tx.now,
        updated_at=tx.now,
    )
    WEBHOOKS.insert(account_id, row, tx, after_sequence=sequence)
    return row


def update(
    account_id: str, webhook_id: str, changes: Mapping[str, Any], tx: Transaction
) -> WebhookRow:
    """Changes a webhook and returns it. Does not change `updated_at` if all values are the same.

    If the webhook is enabled or its URL changes, its health is reset and its pending deliveries
    are sent. A request to enable it while it is enabled ends its pause. `enabled` and
    `event_types` apply to events from now on; of pending events see `expand_pending`.
    Raises WebhookNotFound.
    """
    before = find_to_change(account_id, webhook_id, tx)
    if before.enabled and changes.get("enabled"):
        before = end_pause(account_id, before, tx)
    row = before._replace(**changes)
    if row == before:
        return before
    if (row.enabled, row.event_types) != (before.enabled, before.event_types):
        expand_pending(account_id, before, tx)
    if (row.enabled, row.url) != (before.enabled, before.url) and row.enabled:
        row = row._replace(disabled_reason=DisabledReason.NONE, **HEALTHY._asdict())
        store_queue.wake(account_id, tx)
    row = row._replace(updated_at=tx.now)
    WEBHOOKS.update(account_id, row, tx)
    return row


def rotate(account_id: str, webhook_id: str, encrypt: Encrypt, tx: Transaction) -> WebhookRow:
    """Stores a new secret of a webhook. The previous one still signs for OLD_SECRET_VALIDITY.

    An even older secret is dropped. Raises WebhookNotFound.
    """
    before = find_to_change(account_id, webhook_id, tx)
    row = before._replace(
        secret=encrypt(webhook_id),
        old_secret=before.secret,
        old_secret_until=tx.now + OLD_SECRET_VALIDITY,
        updated_at=tx.now,
    )
    WEBHOOKS.update(account_id, row, tx)
    return row


def delete(account_id: str, webhook_id: str, tx: Transaction) -> None:
    """Deletes a webhook. Raises WebhookNotFound."""
    find_to_change(account_id, webhook_id, tx)
    WEBHOOKS.delete(account_id, webhook_id, tx)
    count_webhooks(account_id, count(account_id, tx), tx)


def find_to_change(account_id: str, webhook_id: str, tx: Transaction) -> WebhookRow:
    """Locks the queue and returns the webhook. Raises WebhookNotFound."""
    find(account_id, webhook_id, tx)
    store_queue.lock(account_id, tx)
    return find(account_id, webhook_id, tx)
