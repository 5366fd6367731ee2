"""Adds what the health of webhooks and the search of deliveries read.

The request headers of stored attempts, and the times of their next attempts, are null.
"""

from peewee import BigIntegerField, Model, TextField


class DeliveryAttempt(Model):
    request_headers = TextField(null=True)
    next_attempt_at = BigIntegerField(null=True)

    class Meta:
        table_name = "delivery_attempt"
        primary_key = False


def indexes(_db):
    attempts = 'ON "delivery_attempt" ("account_id", "webhook_id",'
    return {
        # 1 is PENDING.
        "delivery_pending": (
            'ON "delivery" ("account_id", "webhook_id", "id") WHERE ("status" = 1)'
        ),
        "delivery_attempt_by_start": f'{attempts} "started_at", "error")',
        "delivery_attempt_failed": (
            f'{attempts} "http_status", "delivery_id", "error") WHERE ("error" != \'\')'
        ),
    }


def up(migrator, db):
    existing = {column.name for column in db.get_columns("delivery_attempt")}
    for field in DeliveryAttempt._meta.sorted_fields:
        if field.column_name not in existing:
            definition, _ = db.get_sql_context().sql(field.ddl(db.get_sql_context())).query()
            db.execute_sql(f"ALTER TABLE delivery_attempt ADD COLUMN {definition}")
