"""The table of tags."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, TextField


class Tag(Model):
    """A tag; `name_key` is the normal form of the name, for comparison and order."""

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
