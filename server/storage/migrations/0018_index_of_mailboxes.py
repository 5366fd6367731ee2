"""Adds an index of Gmail mailboxes, whose address has many spellings."""

from peewee import PostgresqlDatabase

SQLITE_MAILBOX = (
    "replace(substr(email_key, 1, instr(replace(email_key, '@', '+'), '+') - 1), '.', '')"
)
SQLITE_DOMAIN = "substr(email_key, instr(email_key, '@') + 1)"
POSTGRES_MAILBOX = "replace(split_part(replace(email_key, '@', '+'), '+', 1), '.', '')"
POSTGRES_DOMAIN = "split_part(email_key, '@', 2)"


def up(migrator, db):
    is_postgres = isinstance(db, PostgresqlDatabase)
    mailbox = POSTGRES_MAILBOX if is_postgres else SQLITE_MAILBOX
    domain = POSTGRES_DOMAIN if is_postgres else SQLITE_DOMAIN
    db.execute_sql(
        "CREATE INDEX IF NOT EXISTS subscriber_by_mailbox"
        f" ON subscriber (account_id, ({mailbox}), id, email_key)"
        f" WHERE {domain} IN ('gmail.com', 'googlemail.com')"
    )
