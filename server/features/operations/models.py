"""The table of operations."""

from __future__ import annotations

from peewee import SQL, BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class Operation(Model):
    """Long work that runs in the background; see `OperationRow` for the columns.

    `ids` is a JSON list of the selected subscribers, or null if a filter selects them. `undone_by`
    is the operation that undoes this one.
    """

    account_id = TextField()
    id = TextField()
    state = SmallIntegerField()
    request = TextField()
    ids = TextField(null=True)
    total = BigIntegerField()
    processed = BigIntegerField()
    failed = TextField()
    after_id = TextField()
    runner = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()
    ended_at = BigIntegerField(null=True)
    changed = BigIntegerField(null=True)
    unchanged = BigIntegerField(null=True)
    undone_by = TextField(null=True)
    deleted = BigIntegerField(null=True)
    error = TextField(null=True)

    class Meta:
        table_name = "operation"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class NameRevision(Model):
    """The number of changes of what the filters of an account can name; see `store_filters`."""

    account_id = TextField(primary_key=True)
    revision = BigIntegerField()

    class Meta:
        table_name = "name_revision"
        without_rowid = True


# Of the previous release, which does not run jobs.
Operation.add_index(
    Operation.account_id,
    Operation.id,
    name="operation_running",
    unique=True,
    where=SQL("state = 1"),
)
Operation.add_index(
    Operation.account_id,
    Operation.id,
    name="operation_not_ended",
    where=Operation.ended_at.is_null(),
)
