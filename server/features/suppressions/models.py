"""The table of suppressions."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class Suppression(Model):
    """A suppressed address; `reason` is the status of the deleted subscriber."""

    account_id = TextField()
    email_hash = TextField()
    reason = SmallIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "suppression"
        primary_key = CompositeKey("account_id", "email_hash")
        indexes = ((("account_id", "created_at", "email_hash"), True),)
        without_rowid = True
