"""The tables of files and their parts."""

from __future__ import annotations

from peewee import BigIntegerField, BlobField, CompositeKey, IntegerField, Model, TextField


class StoredFile(Model):
    """A file of an account; see `FileRow` for the columns."""

    account_id = TextField()
    id = TextField()
    size = BigIntegerField()
    created_at = BigIntegerField()
    expires_at = BigIntegerField()

    class Meta:
        table_name = "stored_file"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class FilePart(Model):
    """A range of a file from the byte `start`, encrypted in `content` or in a file on disk."""

    account_id = TextField()
    file_id = TextField()
    part = IntegerField()
    start = BigIntegerField()
    size = IntegerField()
    name = TextField()
    content = BlobField(null=True)

    class Meta:
        table_name = "file_part"
        primary_key = CompositeKey("account_id", "file_id", "part")
        without_rowid = True
