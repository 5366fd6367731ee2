"""The table of the audit log."""

from __future__ import annotations

from peewee import CompositeKey, Model, TextField


class AuditEntry(Model):
    """An administrative action; the time is that of the ID.

    `actor` is the ID of an API key or session, or COMMAND_LINE. `actor_type` is null in entries of
    earlier versions, which have no sessions. `before` and `after` are JSON objects. Texts
    are empty without a value.
    """

    account_id = TextField()
    id = TextField()
    action = TextField()
    actor = TextField()
    actor_name = TextField()
    ip = TextField()
    resource_id = TextField()
    before = TextField()
    after = TextField()
    actor_type = TextField(null=True)

    class Meta:
        table_name = "audit_entry"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "resource_id", "id"), True),)
        without_rowid = True
