"""Adds revisions of insertions and of names, and the persons that stored responses name.

Subscribers that exist have the revision 0. On Citus, the new table is distributed like the table
of subscribers.
"""

from peewee import SQL, BigIntegerField, Model, PostgresqlDatabase, TextField


class Subscriber(Model):
    inserted_revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])


class StoredResponse(Model):
    persons = TextField(null=True)


class NameRevision(Model):
    account_id = TextField(primary_key=True)
    revision = BigIntegerField()

    class Meta:
        table_name = "name_revision"
        without_rowid = True


def up(migrator, db):
    with db.bind_ctx([NameRevision]):
        db.create_tables([NameRevision])
        if isinstance(db, PostgresqlDatabase) and is_distributed(db):
            db.execute_sql(
                "SELECT create_distributed_table('name_revision', 'account_id',"
                " colocate_with => 'subscriber')"
            )
    for table, field in (
        ("subscriber", Subscriber.inserted_revision),
        ("kept_answer", StoredResponse.persons),
    ):
        if field.name not in {column.name for column in db.get_columns(table)}:
            column = field.ddl(db.get_sql_context())
            definition, _ = db.get_sql_context().sql(column).query()
            db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")


def is_distributed(db):
    if db.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        return False
    text = "SELECT citus_table_type FROM citus_tables WHERE table_name = 'subscriber'::regclass"
    return db.execute_sql(text).fetchone() == ("distributed",)
