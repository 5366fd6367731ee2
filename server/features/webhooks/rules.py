"""Rules of webhooks: limits, retry schedule, pauses and disabling of endpoints, event types.

A failed delivery is retried after the delays of a schedule, 75 hours in total. A Retry-After
of the endpoint is honored between the delay of the step and twice that delay.

An endpoint that keeps failing is paused: after several failures in a row nothing is sent for a
while, then one delivery at a time until one succeeds. So it uses little capacity, and its
deliveries do not use up their attempts. An endpoint that responds 410 Gone or has failed for
120 hours is disabled.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ...rpc.errors import Detail, ValidationError, invalid
from ..events.rules import event_types_matching, is_pattern

MAX_WEBHOOKS = 20
# Seconds between the attempts of a delivery, and the greatest random deviation from them.
RETRY_DELAYS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
JITTER = 0.2
# Duration of a lease, in milliseconds.
LEASE_DURATION = 60_000
# Deliveries in flight at a time.
MAX_IN_FLIGHT_PER_ENDPOINT = 4
MAX_IN_FLIGHT_PER_ACCOUNT = 32
# Failures in a row before an endpoint is paused, and the duration of the pause in milliseconds.
# It doubles with each further failure, up to the maximum.
FAILURES_BEFORE_PAUSE = 5
MIN_PAUSE, MAX_PAUSE = 30_000, 600_000
# Milliseconds that an endpoint can fail before it is disabled.
DISABLE_AFTER = 120 * 3_600_000
# Milliseconds that a replaced secret still signs.
OLD_SECRET_VALIDITY = 24 * 3_600_000
GONE = 410
_NO_EVENT_TYPE = "must be an event type such as subscriber.created, or a group such as subscriber.*"


class DeliveryState(IntEnum):
    """State of a delivery, with the numbers of WebhookDelivery.State."""

    PENDING = 1
    SENDING = 2
    SUCCEEDED = 3
    FAILED = 4


class DisabledReason(IntEnum):
    """Why the service disabled a webhook, with the numbers of Webhook.DisabledReason."""

    NONE = 0
    GONE = 1
    FAILING = 2


class Health(NamedTuple):
    """Health of an endpoint; times in milliseconds.

    `failures` counts failures in a row, the first of them at `failing_since`. Nothing is sent
    before `paused_until`.
    """

    failures: int = 0
    failing_since: int | None = None
    paused_until: int = 0

    @property
    def capacity(self) -> int:
        """Deliveries that can be in flight: only one after a pause, until a delivery succeeds."""
        return 1 if self.failures >= FAILURES_BEFORE_PAUSE else MAX_IN_FLIGHT_PER_ENDPOINT

    def after_failure(self, now: int) -> Health:
        """Returns the health after one more failure.

        Failures of deliveries that were in flight when a pause started do not count.
        """
        if now < self.paused_until:
            return self
        failures = self.failures + 1
        since = now if self.failing_since is None else self.failing_since
        doublings = failures - FAILURES_BEFORE_PAUSE
        if doublings < 0:
            return Health(failures, since, self.paused_until)
        pause = min(MIN_PAUSE << min(doublings, 10), MAX_PAUSE)
        return Health(failures, since, now + pause)

    def is_failing_too_long(self, now: int) -> bool:
        return self.failing_since is not None and now - self.failing_since >= DISABLE_AFTER


HEALTHY = Health()


def retry_delay(step: int, retry_after: float | None, random: float) -> int | None:
    """Returns the milliseconds until the next attempt; None after the last one.

    `step` counts the earlier delays, `retry_after` is in seconds, and `random` is from 0 to 1.
    """
    if step >= len(RETRY_DELAYS):
        return None
    delay = RETRY_DELAYS[step]
    if retry_after is not None:
        return int(min(max(retry_after, delay), 2 * delay) * 1000)
    return int(delay * (1 - JITTER + 2 * JITTER * random) * 1000)


def check_event_types(patterns: list[str]) -> list[str]:
    """Returns the patterns without duplicates. Raises ValidationError if one matches nothing."""
    details = [
        Detail(f"eventTypes[{number}]", "INVALID_VALUE", _NO_EVENT_TYPE)
        for number, pattern in enumerate(patterns)
        if not is_pattern(pattern)
    ]
    if details:
        raise ValidationError(details)
    return list(dict.fromkeys(patterns))


def check_filter(field: str, pattern: str) -> list[str]:
    """Returns the event types that a list filter selects in any letter case; none if it is empty.

    Raises ValidationError for `field` if the pattern matches nothing.
    """
    event_types = event_types_matching(pattern.lower())
    if pattern and not event_types:
        raise invalid(field, "INVALID_VALUE", _NO_EVENT_TYPE)
    return event_types
