"""The table of exports."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, TextField


class SubscriberExport(Model):
    """An export, with the ID of its operation; see `ExportRow` for the columns."""

    account_id = TextField()
    id = TextField()
    file_id = TextField()
    sha256 = TextField()
    expires_at = BigIntegerField()

    class Meta:
        table_name = "subscriber_export"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True
