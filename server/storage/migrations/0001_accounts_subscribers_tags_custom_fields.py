"""Accounts and their keys, subscribers and the tags on them, tags, custom fields.

A frozen copy of the models: it stays as it is when they move on. Every table of
an account's data has account_id first in its primary key and unique indexes.
"""

from peewee import (
    SQL,
    BigIntegerField,
    BooleanField,
    CompositeKey,
    Model,
    SmallIntegerField,
    TextField,
)


class Account(Model):
    id = TextField(primary_key=True)
    email = TextField()
    email_verified = BooleanField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "account"
        without_rowid = True


class ApiKey(Model):
    account_id = TextField()
    id = TextField()
    name = TextField()
    scope = TextField()
    secret_hash = TextField(unique=True)
    created_at = BigIntegerField()
    expires_at = BigIntegerField(null=True)

    class Meta:
        table_name = "api_key"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class Tag(Model):
    account_id = TextField()
    id = TextField()
    name = TextField()
    name_key = TextField()
    description = TextField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "tag"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "name_key"), True),)
        without_rowid = True


class CustomField(Model):
    account_id = TextField()
    id = TextField()
    key = TextField()
    label = TextField()
    label_key = TextField()
    data_type = SmallIntegerField()
    fallback = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        table_name = "custom_field"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "key"), True), (("account_id", "label_key"), True))
        without_rowid = True


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    email = TextField()
    email_key = TextField()
    first_name = TextField()
    last_name = TextField()
    status = SmallIntegerField()
    created_at = BigIntegerField()
    name_key = TextField(null=True)
    last_name_key = TextField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        indexes = (
            (("account_id", "email_key"), True),
            (("account_id", "status", "id"), True),
        )
        without_rowid = True


for _name, _key in (("name", Subscriber.name_key), ("last_name", Subscriber.last_name_key)):
    Subscriber.add_index(
        Subscriber.account_id,
        _key,
        Subscriber.id,
        name=f"subscriber_by_{_name}",
        unique=True,
        where=_key.is_null(False),
    )


class SubscriberBlock(Model):
    account_id = TextField()
    level = SmallIntegerField()
    first_id = TextField()
    total = BigIntegerField()

    class Meta:
        table_name = "subscriber_block"
        primary_key = CompositeKey("account_id", "level", "first_id")
        without_rowid = True


class SubscriberTag(Model):
    account_id = TextField()
    subscriber_id = TextField()
    tag_id = TextField()

    class Meta:
        table_name = "subscriber_tag"
        primary_key = CompositeKey("account_id", "subscriber_id", "tag_id")
        indexes = ((("account_id", "tag_id", "subscriber_id"), True),)
        constraints = [  # noqa: RUF012 - Peewee reads it from the class
            SQL(
                "FOREIGN KEY (account_id, subscriber_id)"
                " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
            ),
            SQL(
                "FOREIGN KEY (account_id, tag_id) REFERENCES tag (account_id, id) ON DELETE CASCADE"
            ),
        ]
        without_rowid = True


TABLES = [Account, ApiKey, Tag, CustomField, Subscriber, SubscriberBlock, SubscriberTag]


def up(migrator, db):
    with db.bind_ctx(TABLES, bind_refs=False, bind_backrefs=False):
        db.create_tables(TABLES)
