"""What a webhook may be, when a delivery is tried again, and when an endpoint is left alone.

A delivery that fails is tried again after the steps of a schedule, 75 hours in all. What
an endpoint asks for by Retry-After is honoured from the length of the step to twice of it.

An endpoint that fails again and again is paused: after some failures in a row nothing is
sent to it for a while, then one delivery at a time until one succeeds. So it takes little
room from others, and what waits for it is not used up. One that answers 410, or has failed
for 120 hours, is disabled.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ..errors import Detail, ValidationError
from ..events.rules import is_pattern

MAX_WEBHOOKS = 20
# The waits between the attempts at a delivery, in seconds, and how far each may be off.
SCHEDULE = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
JITTER = 0.2
# How long, in milliseconds, whoever takes on a delivery has for it before another may.
LEASE = 60_000
# How many deliveries may be on their way at the same time.
MAX_IN_FLIGHT_PER_ENDPOINT = 4
MAX_IN_FLIGHT_PER_ACCOUNT = 32
# After how many failures in a row an endpoint is paused, and how long, in milliseconds:
# twice as long with each further failure, up to the last.
FAILURES_BEFORE_PAUSE = 5
MIN_PAUSE, MAX_PAUSE = 30_000, 600_000
# How long an endpoint may fail before it is disabled, in milliseconds.
PATIENCE = 120 * 3_600_000
# How long a secret that was replaced signs along, in milliseconds.
OLD_SECRET_VALIDITY = 24 * 3_600_000
GONE = 410


class DeliveryStatus(IntEnum):
    """What became of a delivery; the numbers of WebhookDelivery.Status."""

    PENDING = 1
    SENDING = 2
    SUCCEEDED = 3
    FAILED = 4


class DisabledReason(IntEnum):
    """Why the service disabled a webhook; the numbers of Webhook.DisabledReason."""

    NONE = 0
    GONE = 1
    FAILING = 2


class Health(NamedTuple):
    """How an endpoint does; times in milliseconds.

    `failures` counts those in a row, the first of which was at `failing_since`. Nothing is
    sent before `paused_until`.
    """

    failures: int = 0
    failing_since: int | None = None
    paused_until: int = 0

    @property
    def capacity(self) -> int:
        """How many deliveries may be on their way to it: one, where it has to prove itself."""
        return 1 if self.failures >= FAILURES_BEFORE_PAUSE else MAX_IN_FLIGHT_PER_ENDPOINT

    def failed(self, now: int) -> Health:
        """Returns how it does after one more failure.

        Those that were on their way when a pause began say nothing new.
        """
        if now < self.paused_until:
            return self
        failures = self.failures + 1
        since = now if self.failing_since is None else self.failing_since
        over = failures - FAILURES_BEFORE_PAUSE
        if over < 0:
            return Health(failures, since, self.paused_until)
        pause = min(MIN_PAUSE << min(over, 10), MAX_PAUSE)
        return Health(failures, since, now + pause)

    def is_failing_too_long(self, now: int) -> bool:
        """Whether it has failed for so long that it is to be disabled."""
        return self.failing_since is not None and now - self.failing_since >= PATIENCE


HEALTHY = Health()


def wait_after(step: int, retry_after: float | None, chance: float) -> int | None:
    """Returns how long to wait after a failure, in milliseconds; None if that was the last attempt.

    `step` counts the waits before, `retry_after` is in seconds, and `chance` from 0 to 1.
    """
    if step >= len(SCHEDULE):
        return None
    length = SCHEDULE[step]
    if retry_after is not None:
        delay = min(max(retry_after, length), 2 * length)
        return int(delay * 1000)
    return int(length * (1 - JITTER + 2 * JITTER * chance) * 1000)


def check_event_types(names: list[str]) -> list[str]:
    """Returns the types without repetitions. Raises ValidationError for what is none."""
    faults = [
        Detail(f"eventTypes[{number}]", "INVALID_VALUE", "is no type of event")
        for number, name in enumerate(names)
        if not is_pattern(name)
    ]
    if faults:
        raise ValidationError(faults)
    return list(dict.fromkeys(names))
