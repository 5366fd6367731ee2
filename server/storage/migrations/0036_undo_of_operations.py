"""Adds what the undo of operations reads: the operation of a change, and the undo of an operation.

Both are null for stored rows, whose changes cannot be undone.
"""

from peewee import Model, TextField


class SubscriberHistory(Model):
    operation_id = TextField(null=True)

    class Meta:
        table_name = "subscriber_history"
        primary_key = False


class Operation(Model):
    undone_by = TextField(null=True)

    class Meta:
        table_name = "operation"
        primary_key = False


def up(migrator, db):
    for model in (SubscriberHistory, Operation):
        table = model._meta.table_name
        existing = {column.name for column in db.get_columns(table)}
        for field in model._meta.sorted_fields:
            if field.column_name not in existing:
                definition, _ = db.get_sql_context().sql(field.ddl(db.get_sql_context())).query()
                db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")
