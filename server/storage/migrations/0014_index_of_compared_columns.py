"""Adds an index, in the order of IDs, of the columns that filters compare."""

from peewee import BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    email_key = TextField()
    email_unicode_key = TextField(null=True)
    first_name = TextField()
    last_name = TextField()
    status = SmallIntegerField()
    status_changed_at = BigIntegerField(null=True)
    confirmed_at = BigIntegerField(null=True)
    unsubscribed_at = BigIntegerField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.id,
    Subscriber.status,
    Subscriber.status_changed_at,
    Subscriber.confirmed_at,
    Subscriber.unsubscribed_at,
    Subscriber.email_key,
    Subscriber.email_unicode_key,
    Subscriber.first_name,
    Subscriber.last_name,
    name="subscriber_by_id",
)


def up(migrator, db):
    with db.bind_ctx([Subscriber]):
        db.create_tables([Subscriber])  # The table exists: this creates the index.
