"""Replays of all events."""

from __future__ import annotations

from rosterd.server.features.webhooks.delivery.store_replays import ReplayFilter
from rosterd.server.values.ids import first_id_at


def everything(webhook_id: str, *, only_failed: bool = False) -> ReplayFilter:
    """Returns the filter of a replay of all events that the webhook subscribes to."""
    stored = {"webhookId": webhook_id, "eventTypes": [], "onlyFailed": only_failed}
    return ReplayFilter(first_id_at(0), None, stored)
