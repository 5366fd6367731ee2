"""The tables of events: an outbox, written in the transaction of each change."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, IntegerField, Model, TextField


class EventStream(Model):
    """The last sequence number of an account's events, and the number of its webhooks.

    An account that never had a webhook has no row. The sequence continues if an account
    deletes its last webhook and creates another one.
    """

    account_id = TextField(primary_key=True)
    sequence = BigIntegerField()
    webhook_count = IntegerField()

    class Meta:
        table_name = "event_stream"
        without_rowid = True


class Event(Model):
    """An event; `envelope` is the exact text that is sent, `created_at` is in milliseconds.

    `subscriber_id` is the subscriber that the event is about, or null.
    """

    account_id = TextField()
    sequence = BigIntegerField()
    id = TextField()
    event_type = TextField()
    envelope = TextField()
    created_at = BigIntegerField()
    subscriber_id = TextField(null=True)

    class Meta:
        table_name = "event"
        primary_key = CompositeKey("account_id", "sequence")
        indexes = (
            (("account_id", "id"), True),
            (("account_id", "event_type", "sequence"), True),
        )
        without_rowid = True


Event.add_index(
    Event.account_id,
    Event.subscriber_id,
    Event.sequence,
    name="event_by_subscriber",
    unique=True,
    where=Event.subscriber_id.is_null(False),
)
