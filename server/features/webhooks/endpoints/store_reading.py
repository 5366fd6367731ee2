"""Reads webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from peewee import fn

from ....rpc.errors import WebhookNotFound
from ....rpc.paging import Page
from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ....values.clock import iso8601
from ..models import Webhook
from ..rules import DisabledReason, Health


class WebhookRow(NamedTuple):
    """A stored webhook. Secrets are encrypted; times are in milliseconds."""

    id: str
    url: str
    description: str
    event_types: tuple[str, ...]
    enabled: bool
    disabled_reason: int
    secret: bytes
    old_secret: bytes | None
    old_secret_until: int | None
    failures: int
    failing_since: int | None
    paused_until: int
    created_at: int
    updated_at: int

    @property
    def health(self) -> Health:
        return Health(self.failures, self.failing_since, self.paused_until)

    def secrets_at(self, now: int) -> list[bytes]:
        """Returns the encrypted secrets that sign at a time, the current one first."""
        if self.old_secret is None or now >= (self.old_secret_until or 0):
            return [self.secret]
        return [self.secret, self.old_secret]

    def as_json(self) -> dict[str, Any]:
        """Returns the webhook as the API returns it."""
        webhook = {
            "id": self.id,
            "url": self.url,
            "description": self.description,
            "eventTypes": list(self.event_types),
            "enabled": self.enabled,
            "createdAt": iso8601(self.created_at),
            "updatedAt": iso8601(self.updated_at),
        }
        if self.disabled_reason:
            webhook["disabledReason"] = DisabledReason(self.disabled_reason).name
        if self.failing_since is not None:
            webhook["failingSince"] = iso8601(self.failing_since)
        return webhook


COLUMNS = tuple(getattr(Webhook, name) for name in WebhookRow._fields)
IN_ACCOUNT = Webhook.account_id == param("account_id")
ONE = IN_ACCOUNT & (Webhook.id == param("id"))

_FIND = Statement(lambda _: Webhook.select(*COLUMNS).where(ONE))
_COUNT = Statement(lambda _: Webhook.select(fn.COUNT(Webhook.id)).where(IN_ACCOUNT))
_PAGE = Statement(
    lambda _: (
        Webhook.select(*COLUMNS)
        .where(IN_ACCOUNT)
        .order_by(Webhook.account_id, Webhook.id)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_NEWEST = Statement(lambda _: Webhook.select(fn.MAX(Webhook.id)))


def find(account_id: str, webhook_id: str, tx: Transaction) -> WebhookRow:
    """Returns one webhook. Raises WebhookNotFound."""
    webhook = find_or_none(account_id, webhook_id, tx)
    if webhook is None:
        raise WebhookNotFound
    return webhook


def find_or_none(account_id: str, webhook_id: str, tx: Transaction) -> WebhookRow | None:
    row = tx.one(_FIND, account_id=account_id, id=webhook_id)
    return row_of(row) if row else None


def page(account_id: str, page: Page, tx: Transaction) -> tuple[list[WebhookRow], int]:
    """Returns the webhooks of a page, oldest first, and the number of all."""
    rows = tx.all(_PAGE, account_id=account_id, limit=page.limit, offset=page.offset)
    return [row_of(row) for row in rows], count(account_id, tx)


def count(account_id: str, tx: Transaction) -> int:
    return int(tx.scalar(_COUNT, account_id=account_id))


def newest_id_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest ID of all accounts, or None. Runs when the service starts."""
    newest: str | None = tx.greatest(_NEWEST)
    return newest


def column_values(row: WebhookRow) -> dict[str, Any]:
    """Returns the values of a row to store, by column."""
    return {**row._asdict(), "event_types": dump_event_types(row.event_types)}


def row_of(values: Sequence[Any]) -> WebhookRow:
    """Returns the webhook of a row with the COLUMNS."""
    row = WebhookRow._make(values)
    event_types = load_event_types(str(row.event_types))
    return row._replace(event_types=event_types, enabled=bool(row.enabled))


def dump_event_types(types: Sequence[str]) -> str:
    return orjson.dumps(types).decode()


def load_event_types(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text))
