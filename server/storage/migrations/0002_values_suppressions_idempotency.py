"""Values of custom fields, suppressions, answers kept for idempotency keys."""

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    CompositeKey,
    Model,
    SmallIntegerField,
    TextField,
)


class Installation(Model):
    name = TextField(primary_key=True)
    value = TextField()

    class Meta:
        table_name = "installation"
        without_rowid = True


class CustomValue(Model):
    account_id = TextField()
    subscriber_id = TextField()
    key = TextField()
    value = TextField()

    class Meta:
        table_name = "custom_value"
        primary_key = CompositeKey("account_id", "subscriber_id", "key")
        indexes = ((("account_id", "key", "subscriber_id"), True),)
        constraints = [  # noqa: RUF012 - Peewee reads it from the class
            SQL(
                "FOREIGN KEY (account_id, subscriber_id)"
                " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
            ),
            SQL(
                "FOREIGN KEY (account_id, key)"
                " REFERENCES custom_field (account_id, key) ON DELETE CASCADE"
            ),
        ]
        without_rowid = True


class Suppression(Model):
    account_id = TextField()
    email_hash = TextField()
    reason = SmallIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "suppression"
        primary_key = CompositeKey("account_id", "email_hash")
        indexes = ((("account_id", "created_at", "email_hash"), True),)
        without_rowid = True


class KeptAnswer(Model):
    account_id = TextField()
    key = TextField()
    fingerprint = TextField()
    answer = BlobField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "kept_answer"
        primary_key = CompositeKey("account_id", "key")
        indexes = ((("account_id", "created_at", "key"), True),)
        without_rowid = True


TABLES = [Installation, CustomValue, Suppression, KeptAnswer]


def up(migrator, db):
    with db.bind_ctx(TABLES, bind_refs=False, bind_backrefs=False):
        db.create_tables(TABLES)
