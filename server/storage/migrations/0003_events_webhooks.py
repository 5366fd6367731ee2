"""Events, webhooks, and what is delivered to them."""

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


class EventStream(Model):
    account_id = TextField(primary_key=True)
    sequence = BigIntegerField()
    webhooks = IntegerField()

    class Meta:
        table_name = "event_stream"
        without_rowid = True


class Event(Model):
    account_id = TextField()
    sequence = BigIntegerField()
    id = TextField()
    kind = TextField()
    envelope = TextField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "event"
        primary_key = CompositeKey("account_id", "sequence")
        indexes = (
            (("account_id", "id"), True),
            (("account_id", "kind", "sequence"), True),
        )
        without_rowid = True


class Webhook(Model):
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
    account_id = TextField(primary_key=True)
    expanded = BigIntegerField()
    due_at = BigIntegerField(null=True)
    attempts = BigIntegerField()

    class Meta:
        table_name = "delivery_queue"
        without_rowid = True


class Delivery(Model):
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


TABLES = [EventStream, Event, Webhook, DeliveryQueue, Delivery, DeliveryAttempt, Replay]


def up(migrator, db):
    with db.bind_ctx(TABLES, bind_refs=False, bind_backrefs=False):
        db.create_tables(TABLES)
