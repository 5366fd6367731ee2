"""Builds the protobuf messages of webhooks, deliveries, attempts and events from stored rows."""

from __future__ import annotations

import orjson
from google.protobuf.json_format import ParseDict

from roster.v1 import deliveries_pb2 as pb
from roster.v1.webhooks_pb2 import Webhook

from ...rpc.messages import timestamp
from ..events.rules import LINKS
from .delivery.store_deliveries import AttemptRow, DeliveryRow
from .endpoints.store_reading import WebhookRow


def webhook(row: WebhookRow) -> Webhook:
    """Builds a webhook, without its secrets."""
    return ParseDict(row.as_json(), Webhook())


def delivery(row: DeliveryRow) -> pb.WebhookDelivery:
    message = pb.WebhookDelivery(
        id=row.id,
        webhook_id=row.webhook_id,
        event_id=row.event_id,
        event_type=row.event_type,
        state=pb.WebhookDelivery.State.ValueType(row.status),
        attempts=row.attempts,
        operation_id=row.replay_id or None,
        created_at=timestamp(row.created_at),
    )
    if row.next_attempt_at is not None:
        message.next_attempt_at.CopyFrom(timestamp(row.next_attempt_at))
    if row.finished_at is not None:
        message.ended_at.CopyFrom(timestamp(row.finished_at))
    return message


def attempt(row: AttemptRow) -> pb.WebhookAttempt:
    return pb.WebhookAttempt(
        number=row.number,
        started_at=timestamp(row.started_at),
        duration_ms=row.duration_ms,
        http_status=row.http_status,
        error=row.error or None,
        response_body=row.response_body,
    )


def event(account_id: str, envelope: str, *, with_links: bool) -> pb.Event:
    """Parses an envelope. Without links, a reader cannot act for the subscriber.

    Envelopes that earlier versions stored do not contain the account.
    """
    content = orjson.loads(envelope)
    if not with_links:
        for resource in content["data"].values():
            for name in LINKS:
                resource.pop(name, None)
    return ParseDict(content, pb.Event(account_id=account_id), ignore_unknown_fields=True)
