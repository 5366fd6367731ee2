"""The tables of events: an outbox, written in the transaction of each change."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, IntegerField, Model, TextField


class EventStream(Model):
    """How far the events of an account have come, and how many webhooks it has.

    An account that never had a webhook has no row. The sequence goes on where it was when
    the last webhook leaves and another comes.
    """

    account_id = TextField(primary_key=True)
    sequence = BigIntegerField()
    webhooks = IntegerField()

    class Meta:
        table_name = "event_stream"
        without_rowid = True


class Event(Model):
    """An event; `envelope` is what is sent, to the byte, and `created_at` in milliseconds."""

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
