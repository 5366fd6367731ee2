"""Adds operations. On Citus, their table is distributed like the table of subscribers."""

from peewee import (
    SQL,
    BigIntegerField,
    CompositeKey,
    Model,
    PostgresqlDatabase,
    SmallIntegerField,
    TextField,
)


class Operation(Model):
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

    class Meta:
        table_name = "operation"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


Operation.add_index(
    Operation.account_id,
    Operation.id,
    name="operation_running",
    unique=True,
    where=SQL("state = 1"),
)


def up(migrator, db):
    with db.bind_ctx([Operation]):
        db.create_tables([Operation])
        if isinstance(db, PostgresqlDatabase) and is_distributed(db):
            db.execute_sql(
                "SELECT create_distributed_table('operation', 'account_id',"
                " colocate_with => 'subscriber')"
            )


def is_distributed(db):
    if db.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        return False
    text = "SELECT citus_table_type FROM citus_tables WHERE table_name = 'subscriber'::regclass"
    return db.execute_sql(text).fetchone() == ("distributed",)
