"""The table of custom fields."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class CustomField(Model):
    """A custom field; `label_key` is the normal form of the label."""

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
