"""Adds the data keys, encrypted with each secret key that opens the database.

The table is empty until the first rotation: the secret key of a stored database is its data key.
"""

from peewee import BigIntegerField, BlobField, Model, SmallIntegerField, TextField


class DataKeys(Model):
    fingerprint = TextField(primary_key=True)
    encrypted = BlobField()
    link_key = SmallIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "data_keys"
        without_rowid = True


def up(migrator, db):
    with db.bind_ctx([DataKeys]):
        db.create_tables([DataKeys])
