"""The tables of subscribers and of the tags on them."""

from __future__ import annotations

from peewee import (
    SQL,
    BigIntegerField,
    CharField,
    CompositeKey,
    Model,
    SmallIntegerField,
    TextField,
)


class Subscriber(Model):
    """A subscriber; `email_key` is the address as it is compared."""

    account_id = CharField(26)
    id = CharField(26)
    email = TextField()
    email_key = TextField()
    first_name = TextField()
    last_name = TextField()
    status = SmallIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "email_key"), True),)
        without_rowid = True


class SubscriberCount(Model):
    """How many subscribers an account has: counting them takes longer the more there are.

    Changed in the transaction that adds or removes them.
    """

    account_id = CharField(26, primary_key=True)
    total = BigIntegerField()

    class Meta:
        table_name = "subscriber_count"
        without_rowid = True


class SubscriberTag(Model):
    """That a tag is on a subscriber. Leaves with either of them."""

    account_id = CharField(26)
    subscriber_id = CharField(26)
    tag_id = CharField(26)

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
