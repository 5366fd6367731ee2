"""Adds the names of actors, and the types of those that create API keys and audit entries.

The types of stored rows are null; they follow from other columns. A start distributes the table in
a distributed database.
"""

from peewee import CompositeKey, Model, TextField


class NamedActor(Model):
    account_id = TextField()
    id = TextField()
    type = TextField()
    name = TextField()

    class Meta:
        table_name = "actor"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class ApiKey(Model):
    created_by_type = TextField(null=True)

    class Meta:
        table_name = "api_key"
        primary_key = False


class AuditEntry(Model):
    actor_type = TextField(null=True)

    class Meta:
        table_name = "audit_entry"
        primary_key = False


def up(migrator, db):
    with db.bind_ctx([NamedActor]):
        db.create_tables([NamedActor])
    for model in (ApiKey, AuditEntry):
        table, (field,) = model._meta.table_name, model._meta.sorted_fields
        if field.column_name not in {column.name for column in db.get_columns(table)}:
            definition, _ = db.get_sql_context().sql(field.ddl(db.get_sql_context())).query()
            db.execute_sql(f'ALTER TABLE "{table}" ADD COLUMN {definition}')
