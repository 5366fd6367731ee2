"""Lets a search find an international domain by its beginning in Unicode.

Adds `email_unicode_key`: the address as it is compared, with its domain in Unicode instead of
IDNA's ASCII. Null for all other addresses.
"""

from peewee import CompositeKey, Model, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    email_key = TextField()
    email_unicode_key = TextField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.email_unicode_key,
    Subscriber.id,
    name="subscriber_by_email_unicode",
    unique=True,
    where=Subscriber.email_unicode_key.is_null(False),
)


def unicode_key(key):
    """Returns the key with its domain in Unicode, or None if the domain has no A-labels."""
    local, _, domain = key.rpartition("@")
    labels = ".".join(
        label.removeprefix("xn--").encode().decode("punycode")
        if label.startswith("xn--")
        else label
        for label in domain.split(".")
    )
    return f"{local}@{labels}" if labels != domain else None


def up(migrator, db):
    if "email_unicode_key" not in {column.name for column in db.get_columns("subscriber")}:
        column = TextField(null=True)
        migrator.migrate(migrator.add_column("subscriber", "email_unicode_key", column))
    with db.bind_ctx([Subscriber]):
        international = Subscriber.select(
            Subscriber.account_id, Subscriber.id, Subscriber.email_key
        ).where(Subscriber.email_key.contains("xn--"))
        for account_id, subscriber_id, email_key in list(international.tuples()):
            Subscriber.update(email_unicode_key=unicode_key(email_key)).where(
                (Subscriber.account_id == account_id) & (Subscriber.id == subscriber_id)
            ).execute()
        db.create_tables([Subscriber])  # The table exists: this creates the index.
