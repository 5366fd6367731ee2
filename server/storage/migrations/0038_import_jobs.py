"""Adds imports as jobs, and their failed rows.

A start distributes the tables in a distributed database.
"""

from peewee import BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class ImportJob(Model):
    account_id = TextField()
    id = TextField()
    state = SmallIntegerField()
    name = TextField()
    size = BigIntegerField()
    received = BigIntegerField()
    sha256 = TextField()
    file_id = TextField()
    options = TextField()
    inspection = TextField()
    progress = TextField()
    error = TextField()
    operation_id = TextField()
    erased = TextField()
    actor = TextField()
    created_at = BigIntegerField()
    started_at = BigIntegerField(null=True)
    ended_at = BigIntegerField(null=True)

    class Meta:
        table_name = "import_job"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class ImportFailure(Model):
    account_id = TextField()
    import_id = TextField()
    line = BigIntegerField()
    rows = TextField()

    class Meta:
        table_name = "import_failure"
        primary_key = CompositeKey("account_id", "import_id", "line")
        without_rowid = True


def up(migrator, db):
    models = [ImportJob, ImportFailure]
    with db.bind_ctx(models):
        db.create_tables(models)
