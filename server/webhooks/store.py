"""Webhooks in the database: how they come to be, change and go.

What the service does about a webhook by itself, it does under the lock of the account's
queue; so whoever changes one takes that lock before he looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import WebhookLimitReached
from ..events.store import count_webhooks
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .delivery import store_queue
from .delivery.store_pending_events import expand_pending
from .endpoints.store_reading import COLUMNS, ONE, WebhookRow, column_values, count, find
from .models import Webhook
from .rules import HEALTHY, MAX_WEBHOOKS, OLD_SECRET_VALIDITY, DisabledReason

# Seals a secret for the webhook with an id.
Encrypt = Callable[[str], bytes]


class NewWebhook(NamedTuple):
    """A webhook that is to be: what its caller says of it."""

    url: str
    description: str
    event_types: tuple[str, ...]
    enabled: bool


# What a caller changes, and what the service thinks of the endpoint in consequence.
_CHANGEABLE = (
    Webhook.url,
    Webhook.description,
    Webhook.event_types,
    Webhook.enabled,
    Webhook.disabled_reason,
    Webhook.failures,
    Webhook.failing_since,
    Webhook.paused_until,
    Webhook.updated_at,
)
_SECRETS = (Webhook.secret, Webhook.old_secret, Webhook.old_secret_until, Webhook.updated_at)

_INSERT = Statement(
    lambda _: Webhook.insert(
        {
            Webhook.account_id: param("account_id"),
            Webhook.after_sequence: param("after_sequence"),
            **{column: param(column.name) for column in COLUMNS},
        }
    )
)
_UPDATE = Statement(
    lambda _: Webhook.update({column: param(column.name) for column in _CHANGEABLE}).where(ONE)
)
_ROTATE = Statement(
    lambda _: Webhook.update({column: param(column.name) for column in _SECRETS}).where(ONE)
)
_DELETE = Statement(lambda _: Webhook.delete().where(ONE))


def create(account_id: str, new: NewWebhook, encrypt: Encrypt, tx: Transaction) -> WebhookRow:
    """Stores a new webhook, which hears of what happens from now on.

    Raises WebhookLimitReached if the account has as many as it may have.
    """
    others = count(account_id, tx)
    if others >= MAX_WEBHOOKS:
        raise WebhookLimitReached
    sequence = count_webhooks(account_id, others + 1, tx)
    store_queue.begin(account_id, sequence, tx, first=others == 0)
    own_id = tx.new_id()
    row = WebhookRow(
        id=own_id,
        **new._asdict(),
        disabled_reason=DisabledReason.NONE,
        secret=encrypt(own_id),
        old_secret=None,
        old_secret_until=None,
        **HEALTHY._asdict(),
        created_at=tx.now,
        updated_at=tx.now,
    )
    tx.run(_INSERT, account_id=account_id, after_sequence=sequence, **column_values(row))
    return row


def update(
    account_id: str, webhook_id: str, changes: Mapping[str, Any], tx: Transaction
) -> WebhookRow:
    """Changes a webhook and returns it; a change that changes nothing leaves `updated_at`.

    One that is enabled again, or is to be found elsewhere, is as good as new: what waits
    for it is sent. New types, and whether it is enabled, hold for what happens from now on;
    for events before, as well, where very many of them wait. Raises WebhookNotFound.
    """
    before = _find_to_change(account_id, webhook_id, tx)
    row = before._replace(**changes)
    if row == before:
        return before
    if (row.enabled, row.event_types) != (before.enabled, before.event_types):
        expand_pending(account_id, before, tx)
    if (row.enabled, row.url) != (before.enabled, before.url) and row.enabled:
        row = row._replace(disabled_reason=DisabledReason.NONE, **HEALTHY._asdict())
        store_queue.wake(account_id, tx)
    row = row._replace(updated_at=tx.now)
    values = column_values(row)
    changed = {column.name: values[column.name] for column in _CHANGEABLE}
    tx.run(_UPDATE, account_id=account_id, id=webhook_id, **changed)
    return row


def rotate(account_id: str, webhook_id: str, encrypt: Encrypt, tx: Transaction) -> WebhookRow:
    """Gives a webhook a new secret; the one before signs along for a while.

    Of more than two the oldest is dropped. Raises WebhookNotFound.
    """
    before = _find_to_change(account_id, webhook_id, tx)
    row = before._replace(
        secret=encrypt(webhook_id),
        old_secret=before.secret,
        old_secret_until=tx.now + OLD_SECRET_VALIDITY,
        updated_at=tx.now,
    )
    changed = {column.name: getattr(row, column.name) for column in _SECRETS}
    tx.run(_ROTATE, account_id=account_id, id=webhook_id, **changed)
    return row


def delete(account_id: str, webhook_id: str, tx: Transaction) -> None:
    """Deletes a webhook. Raises WebhookNotFound."""
    _find_to_change(account_id, webhook_id, tx)
    tx.run(_DELETE, account_id=account_id, id=webhook_id)
    count_webhooks(account_id, count(account_id, tx), tx)


def _find_to_change(account_id: str, webhook_id: str, tx: Transaction) -> WebhookRow:
    """Returns one webhook once nobody else can change it. Raises WebhookNotFound."""
    find(account_id, webhook_id, tx)
    store_queue.lock(account_id, tx)
    return find(account_id, webhook_id, tx)
