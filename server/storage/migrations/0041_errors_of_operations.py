"""Adds why an operation failed.

It is null for stored rows, and for operations that did not fail.
"""

from peewee import Model, TextField


class Operation(Model):
    error = TextField(null=True)

    class Meta:
        table_name = "operation"
        primary_key = False


def up(migrator, db):
    existing = {column.name for column in db.get_columns("operation")}
    for field in Operation._meta.sorted_fields:
        if field.column_name not in existing:
            definition, _ = db.get_sql_context().sql(field.ddl(db.get_sql_context())).query()
            db.execute_sql(f"ALTER TABLE operation ADD COLUMN {definition}")
