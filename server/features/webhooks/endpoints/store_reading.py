"""Reads webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from ....rpc.errors import WebhookNotFound
from ....storage.resource import Resource
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


def column_values(row: WebhookRow) -> dict[str, Any]:
    """Returns the values of a row to store, by column."""
    return {**row._asdict(), "event_types": dump_event_types(row.event_types)}


def row_of(values: Sequence[Any]) -> WebhookRow:
    """Returns the webhook of a row with its columns."""
    row = WebhookRow._make(values)
    event_types = load_event_types(str(row.event_types))
    return row._replace(event_types=event_types, enabled=bool(row.enabled))


def dump_event_types(types: Sequence[str]) -> str:
    return orjson.dumps(types).decode()


def load_event_types(text: str) -> tuple[str, ...]:
    return tuple(orjson.loads(text))


WEBHOOKS = Resource(
    WebhookRow,
    Webhook.id,
    WebhookNotFound,
    hidden=(Webhook.after_sequence,),
    changed=(
        Webhook.url,
        Webhook.description,
        Webhook.event_types,
        Webhook.enabled,
        Webhook.disabled_reason,
        # The health, which some changes reset.
        Webhook.failures,
        Webhook.failing_since,
        Webhook.paused_until,
        Webhook.secret,
        Webhook.old_secret,
        Webhook.old_secret_until,
        Webhook.updated_at,
    ),
    load=row_of,
    dump=column_values,
)
COLUMNS, IN_ACCOUNT, ONE = WEBHOOKS.columns, WEBHOOKS.in_account, WEBHOOKS.one
# Selects the webhooks of an account. Deliveries outlive theirs, and are indexed by webhook.
IDS = Webhook.select(Webhook.id).where(IN_ACCOUNT)
find, find_or_none, page, count = (
    WEBHOOKS.find,
    WEBHOOKS.find_or_none,
    WEBHOOKS.page,
    WEBHOOKS.count,
)
newest_id_of_any_account = WEBHOOKS.newest_id_of_any_account
