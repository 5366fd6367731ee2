"""The tables of imports and their failed rows."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class ImportJob(Model):
    """The import of a file; see `ImportRow` for the columns."""

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
    """Failed rows of one step of an import: a JSON list, from the row of the first line on."""

    account_id = TextField()
    import_id = TextField()
    line = BigIntegerField()
    rows = TextField()

    class Meta:
        table_name = "import_failure"
        primary_key = CompositeKey("account_id", "import_id", "line")
        without_rowid = True
