"""Adds the day of the last use of API keys, their creator and their previous secret.

All are null for stored keys.
"""

from peewee import BigIntegerField, CompositeKey, Model, TextField


class ApiKey(Model):
    account_id = TextField()
    id = TextField()
    last_used_at = BigIntegerField(null=True)
    created_by = TextField(null=True)
    created_by_name = TextField(null=True)
    previous_secret_hash = TextField(null=True)
    previous_expires_at = BigIntegerField(null=True)

    class Meta:
        table_name = "api_key"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


def up(migrator, db):
    existing = {column.name for column in db.get_columns("api_key")}
    for field in ApiKey._meta.sorted_fields:
        if field.column_name not in existing:
            definition, _ = db.get_sql_context().sql(field.ddl(db.get_sql_context())).query()
            db.execute_sql(f"ALTER TABLE api_key ADD COLUMN {definition}")
    db.execute_sql(
        'CREATE UNIQUE INDEX IF NOT EXISTS "apikey_previous_secret_hash"'
        ' ON "api_key" ("previous_secret_hash")'
    )
