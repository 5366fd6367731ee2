"""The table of segments."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, TextField


class Segment(Model):
    """A segment; `name_key` is the normal form of the name, for comparison and order.

    `expression` is the filter. `uses` is JSON: the keys of the tags and custom fields that it
    names, see `Uses`.
    """

    account_id = TextField()
    id = TextField()
    name = TextField()
    name_key = TextField()
    expression = TextField()
    uses = TextField()
    description = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        table_name = "segment"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "name_key"), True),)
        without_rowid = True
