"""Adds to the indexes of names the keys that a search compares, so that it reads them only."""

from peewee import CompositeKey, Model, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    email_key = TextField()
    name_key = TextField(null=True)
    last_name_key = TextField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.name_key,
    Subscriber.id,
    Subscriber.email_key,
    name="subscriber_by_name",
    unique=True,
    where=Subscriber.name_key.is_null(False),
)
Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.last_name_key,
    Subscriber.id,
    Subscriber.name_key,
    Subscriber.email_key,
    name="subscriber_by_last_name",
    unique=True,
    where=Subscriber.last_name_key.is_null(False),
)


def up(migrator, db):
    for name in ("subscriber_by_name", "subscriber_by_last_name"):
        db.execute_sql(f"DROP INDEX IF EXISTS {name}")
    with db.bind_ctx([Subscriber]):
        db.create_tables([Subscriber])  # The table exists: this creates the indexes.
