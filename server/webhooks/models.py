"""The tables of webhooks: endpoints, what is to be delivered to them, and what became of it."""

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
    """An endpoint. Secrets are sealed; times are in milliseconds.

    It hears of events after `after_sequence`. `failures` counts attempts that failed since
    the last one that did not, the first of which was at `failing_since`; nothing is sent
    before `paused_until`.
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
    """What the deliveries of an account wait for: the lock under which all of them change.

    Events up to `expanded` have their deliveries. Nothing is due before `due_at`; null is
    never. `attempts` counts those that have ended.
    """

    account_id = TextField(primary_key=True)
    expanded = BigIntegerField()
    due_at = BigIntegerField(null=True)
    attempts = BigIntegerField()

    class Meta:
        table_name = "delivery_queue"
        without_rowid = True


class Delivery(Model):
    """That an event is to reach an endpoint: by itself, or in a replay, whose id `replay_id` is.

    While it is pending, `due_at` says when it is tried next; while it is being sent, when
    that is given up for lost. `fence` rises each time it is taken on: what somebody tells of
    it who took it on before is not heard. `step` is its place in the schedule of retries.
    """

    account_id = TextField()
    id = TextField()
    webhook_id = TextField()
    sequence = BigIntegerField()
    event_id = TextField()
    kind = TextField()
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


# The numbers of those that are being sent and that failed, as in `rules.DeliveryStatus`.
SENDING, FAILED = SQL("2"), SQL("4")

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
    """One attempt: when it began, how long it took, and what the endpoint said.

    `place` counts the attempts of an account as they end, so that whoever follows them
    misses none. `answer` is the beginning of its body; what is no text in it is escaped.
    """

    account_id = TextField()
    delivery_id = TextField()
    number = IntegerField()
    place = BigIntegerField()
    webhook_id = TextField()
    started_at = BigIntegerField()
    milliseconds = IntegerField()
    http_status = SmallIntegerField(null=True)
    error = TextField()
    answer = TextField()

    class Meta:
        table_name = "delivery_attempt"
        primary_key = CompositeKey("account_id", "delivery_id", "number")
        indexes = ((("account_id", "place"), True),)
        without_rowid = True


class Replay(Model):
    """Events that are to be delivered once more; those up to `after_sequence` are.

    Gone once all of them are.
    """

    account_id = TextField()
    id = TextField()
    webhook_id = TextField()
    event_types = TextField()
    only_failed = BooleanField()
    after_sequence = BigIntegerField()
    until_sequence = BigIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "webhook_replay"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True
