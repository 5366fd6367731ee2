"""Adds the revision of the last change of the status of subscribers; 0 for stored ones."""

from peewee import SQL, BigIntegerField, CompositeKey, Model, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    status_revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


def up(migrator, db):
    if "status_revision" not in {column.name for column in db.get_columns("subscriber")}:
        column = Subscriber.status_revision.ddl(db.get_sql_context())
        definition, _ = db.get_sql_context().sql(column).query()
        db.execute_sql(f"ALTER TABLE subscriber ADD COLUMN {definition}")
