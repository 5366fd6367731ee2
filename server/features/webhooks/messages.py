"""Builds the protobuf messages of webhooks, their health, deliveries, attempts and events."""

from __future__ import annotations

import orjson
from google.protobuf.json_format import ParseDict
from google.protobuf.timestamp_pb2 import Timestamp

from roster.v1 import deliveries_pb2 as pb
from roster.v1.webhooks_pb2 import Webhook

from ...rpc.messages import timestamp
from ..events.rules import LINKS
from .delivery.store_deliveries import AttemptRow, DeliveryRow
from .egress.client import HEADERS
from .endpoints.signing import signed_headers
from .endpoints.store_reading import WebhookRow
from .store_health import HealthReport, LatestAttempt


def webhook(row: WebhookRow) -> Webhook:
    """Builds a webhook, without its secrets."""
    return ParseDict(row.as_json(), Webhook())


def delivery(row: DeliveryRow) -> pb.WebhookDelivery:
    return pb.WebhookDelivery(
        id=row.id,
        webhook_id=row.webhook_id,
        event_id=row.event_id,
        event_type=row.event_type,
        state=pb.WebhookDelivery.State.ValueType(row.status),
        attempt_count=row.attempts,
        attempts=row.attempts,
        next_attempt_at=_time(row.next_attempt_at),
        operation_id=row.replay_id or None,
        created_at=timestamp(row.created_at),
        ended_at=_time(row.finished_at),
    )


def attempt(event_id: str, row: AttemptRow) -> pb.WebhookAttempt:
    """Builds an attempt of a delivery of the event."""
    return pb.WebhookAttempt(
        number=row.number,
        started_at=timestamp(row.started_at),
        duration_ms=row.duration_ms,
        http_status=row.http_status,
        error=row.error or None,
        response_body=row.response_body,
        request_headers=_request_headers(event_id, row) if row.request_headers else None,
        next_attempt_at=_time(row.next_attempt_at),
    )


def _request_headers(event_id: str, row: AttemptRow) -> dict[str, str]:
    """Returns all headers of the request. Those that are not stored follow from the attempt."""
    signed = signed_headers(event_id, row.started_at)
    return {**HEADERS, **signed, **orjson.loads(row.request_headers or "{}")}


def health(row: HealthReport) -> pb.WebhookHealth:
    number = row.succeeded + row.failed
    last = row.last_failure
    return pb.WebhookHealth(
        webhook_id=row.webhook.id,
        state=pb.WebhookHealth.State.ValueType(row.state),
        succeeded_attempts=row.succeeded,
        failed_attempts=row.failed,
        success_rate=row.succeeded / number if number else None,
        counted_since=_time(row.counted_since),
        waiting=row.waiting,
        oldest_waiting_at=_time(row.oldest_waiting_at),
        failing_since=_time(row.webhook.failing_since),
        last_http_status=last.http_status if last else None,
        last_error=last.error if last else None,
        next_attempt_at=_time(row.next_attempt_at),
        latest_attempts=[_latest_attempt(each) for each in row.attempts],
    )


def _latest_attempt(row: LatestAttempt) -> pb.WebhookHealth.Attempt:
    return pb.WebhookHealth.Attempt(
        delivery_id=row.delivery_id,
        number=row.number,
        started_at=timestamp(row.started_at),
        duration_ms=row.duration_ms,
        http_status=row.http_status,
        error=row.error or None,
    )


def _time(milliseconds: int | None) -> Timestamp | None:
    return None if milliseconds is None else timestamp(milliseconds)


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
