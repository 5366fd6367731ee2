"""Adds the audit log. A start distributes the table in a distributed database."""

from peewee import CompositeKey, Model, TextField


class AuditEntry(Model):
    account_id = TextField()
    id = TextField()
    action = TextField()
    actor = TextField()
    actor_name = TextField()
    ip = TextField()
    resource_id = TextField()
    before = TextField()
    after = TextField()

    class Meta:
        table_name = "audit_entry"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "resource_id", "id"), True),)
        without_rowid = True


def up(migrator, db):
    with db.bind_ctx([AuditEntry]):
        db.create_tables([AuditEntry])
