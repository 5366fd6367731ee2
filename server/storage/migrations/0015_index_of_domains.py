"""Adds an index of the domains of addresses."""

from peewee import PostgresqlDatabase

SQLITE = "substr(email_key, instr(email_key, '@') + 1)"
POSTGRES = "split_part(email_key, '@', 2)"


def up(migrator, db):
    domain = POSTGRES if isinstance(db, PostgresqlDatabase) else SQLITE
    db.execute_sql(
        "CREATE INDEX IF NOT EXISTS subscriber_by_domain"
        f" ON subscriber (account_id, ({domain}), id)"
    )
