"""The tables of webhooks, their deliveries and attempts."""

from __future__ import annotations

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    BooleanField,
    CompositeKey,
    IntegerField,
    Model,
    SmallIntegerField,
    TextField,
)


class Webhook(Model):
    """A webhook. Secrets are encrypted; times are in milliseconds.

    It receives events after `after_sequence`. `failures` counts the failed attempts since the
    last success, the first of them at `failing_since`. Nothing is sent before `paused_until`.
    """

    account_id = TextField()
    id = TextField()
    url = TextField()
    description = TextField()
    event_types = TextField()
    enabled = BooleanField()
    disabled_reason = SmallIntegerField()
    secret = BlobField()
    old_secret = BlobField(null=True)
    old_secret_until = BigIntegerField(null=True)
    after_sequence = BigIntegerField()
    failures = IntegerField()
    failing_since = BigIntegerField(null=True)
    paused_until = BigIntegerField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        table_name = "webhook"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class DeliveryQueue(Model):
    """The delivery queue of an account. Its row is the lock for all deliveries of the account.

    Events up to `expanded_sequence` have their deliveries. Nothing is due before `due_at`; null
    means never. `attempts` counts finished attempts.
    """

    account_id = TextField(primary_key=True)
    expanded_sequence = BigIntegerField()
    due_at = BigIntegerField(null=True)
    attempts = BigIntegerField()

    class Meta:
        table_name = "delivery_queue"
        without_rowid = True


class Delivery(Model):
    """The delivery of an event to a webhook, with its state in `status`.

    `replay_id` is the operation that created it, and empty outside of replays.
    `due_at` is the time of the next attempt of a pending delivery, and the end of the lease
    of one that is being sent. `fence` rises with each lease; results with an older fence are
    rejected. `step` is the next position in the retry schedule.
    """

    account_id = TextField()
    id = TextField()
    webhook_id = TextField()
    sequence = BigIntegerField()
    event_id = TextField()
    event_type = TextField()
    replay_id = TextField()
    status = SmallIntegerField()
    attempts = IntegerField()
    step = SmallIntegerField()
    fence = IntegerField()
    due_at = BigIntegerField(null=True)
    created_at = BigIntegerField()
    finished_at = BigIntegerField(null=True)

    class Meta:
        table_name = "delivery"
        primary_key = CompositeKey("account_id", "id")
        indexes = (
            (("account_id", "webhook_id", "id"), True),
            (("account_id", "webhook_id", "sequence", "replay_id"), True),
        )
        without_rowid = True


# Values of `rules.DeliveryState`, as constants in SQL.
PENDING, SENDING, FAILED = SQL("1"), SQL("2"), SQL("4")

Delivery.add_index(
    Delivery.account_id,
    Delivery.webhook_id,
    Delivery.due_at,
    Delivery.id,
    name="delivery_by_due",
    unique=True,
    where=Delivery.due_at.is_null(False),
)
Delivery.add_index(
    Delivery.account_id,
    Delivery.webhook_id,
    Delivery.id,
    name="delivery_pending",
    where=Delivery.status == PENDING,
)
Delivery.add_index(
    Delivery.account_id,
    Delivery.webhook_id,
    Delivery.id,
    name="delivery_being_sent",
    unique=True,
    where=Delivery.status == SENDING,
)
Delivery.add_index(
    Delivery.account_id,
    Delivery.webhook_id,
    Delivery.id,
    name="delivery_failed",
    unique=True,
    where=Delivery.status == FAILED,
)


class DeliveryAttempt(Model):
    """One attempt, with its start, duration and response.

    `position` numbers the attempts of an account in the order in which they finish, so a tail
    misses none. `response_body` is the beginning of the response body, escaped. `request_headers`
    is a JSON object with those that do not follow from the attempt, and empty if the request could
    not be signed.
    """

    account_id = TextField()
    delivery_id = TextField()
    number = IntegerField()
    position = BigIntegerField()
    webhook_id = TextField()
    started_at = BigIntegerField()
    duration_ms = IntegerField()
    http_status = SmallIntegerField(null=True)
    error = TextField()
    response_body = TextField()
    request_headers = TextField(null=True)
    next_attempt_at = BigIntegerField(null=True)

    class Meta:
        table_name = "delivery_attempt"
        primary_key = CompositeKey("account_id", "delivery_id", "number")
        indexes = ((("account_id", "position"), True),)
        without_rowid = True


# Contains what the health of a webhook counts.
DeliveryAttempt.add_index(
    DeliveryAttempt.account_id,
    DeliveryAttempt.webhook_id,
    DeliveryAttempt.started_at,
    DeliveryAttempt.error,
    name="delivery_attempt_by_start",
)
DeliveryAttempt.add_index(
    DeliveryAttempt.account_id,
    DeliveryAttempt.webhook_id,
    DeliveryAttempt.http_status,
    DeliveryAttempt.delivery_id,
    # SQLite prefers an index that contains the column of its condition.
    DeliveryAttempt.error,
    name="delivery_attempt_failed",
    where=DeliveryAttempt.error != SQL("''"),
)
