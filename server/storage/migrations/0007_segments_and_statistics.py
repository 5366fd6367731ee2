"""Adds segments, and the counters of statistics.

The totals of existing subscribers are counted. The flows of a day begin with this version. On
Citus, the new tables are distributed like the table of subscribers.
"""

from peewee import BigIntegerField, CompositeKey, Model, PostgresqlDatabase, TextField


class Segment(Model):
    account_id = TextField()
    id = TextField()
    name = TextField()
    name_key = TextField()
    expression = TextField()
    uses = TextField()
    description = TextField()
    created_at = BigIntegerField()
    updated_at = BigIntegerField()

    class Meta:
        table_name = "segment"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "name_key"), True),)
        without_rowid = True


class Statistic(Model):
    account_id = TextField()
    day = BigIntegerField()
    name = TextField()
    total = BigIntegerField()

    class Meta:
        table_name = "statistic"
        primary_key = CompositeKey("account_id", "day", "name")
        without_rowid = True


TABLES = [Segment, Statistic]
COUNT = (
    "INSERT INTO statistic (account_id, day, name, total)"
    " SELECT account_id, 0, 'status:' || status, COUNT(*) FROM subscriber"
    " GROUP BY account_id, status",
    "INSERT INTO statistic (account_id, day, name, total)"
    " SELECT account_id, 0, 'tag:' || tag_id, COUNT(*) FROM subscriber_tag"
    " GROUP BY account_id, tag_id",
)


def up(migrator, db):
    with db.bind_ctx(TABLES):
        db.create_tables(TABLES)
        if isinstance(db, PostgresqlDatabase) and is_distributed(db):
            for model in TABLES:
                text = (
                    "SELECT create_distributed_table(%s, 'account_id',"
                    " colocate_with => 'subscriber')"
                )
                db.execute_sql(text, (model._meta.table_name,))
        Statistic.delete().execute()
    for statement in COUNT:
        db.execute_sql(statement)


def is_distributed(db):
    if db.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        return False
    text = "SELECT citus_table_type FROM citus_tables WHERE table_name = 'subscriber'::regclass"
    return db.execute_sql(text).fetchone() == ("distributed",)
