"""Adds files in parts, exports, and an index of the operations that have not ended, jobs included.

A start distributes the tables in a distributed database.
"""

from peewee import BigIntegerField, BlobField, CompositeKey, IntegerField, Model, TextField


class StoredFile(Model):
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


class SubscriberExport(Model):
    account_id = TextField()
    id = TextField()
    file_id = TextField()
    sha256 = TextField()
    expires_at = BigIntegerField()

    class Meta:
        table_name = "subscriber_export"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


def indexes(_db):
    # Quoted as by Peewee, because SQLite stores the text.
    return {
        "operation_not_ended": 'ON "operation" ("account_id", "id") WHERE ("ended_at" IS NULL)',
    }


def up(migrator, db):
    models = [StoredFile, FilePart, SubscriberExport]
    with db.bind_ctx(models):
        db.create_tables(models)
