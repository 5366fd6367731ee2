"""The tables of tags and of the tags of subscribers."""

from __future__ import annotations

from peewee import SQL, BigIntegerField, CompositeKey, Model, TextField


class Tag(Model):
    """A tag; `name_key` is the normal form of the name, for comparison and order.

    If the tag is deleted, it is DELETED_KEY and the ID, until no subscriber has the tag.
    """

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


# DELETED_KEY sorts before a space, and every name after it.
IS_DELETED_TAG = Tag.name_key < SQL("' '")
IS_TAG = Tag.name_key > SQL("' '")
# The search across accounts for deleted tags reads only these.
Tag.add_index(Tag.account_id, Tag.id, name="tag_deleted", unique=True, where=IS_DELETED_TAG)


class SubscriberTag(Model):
    """A tag of a subscriber. Deleted with the subscriber or the tag."""

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
