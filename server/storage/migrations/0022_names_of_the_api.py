"""Renames two tables and eight columns to the words of the API and the glossary.

On PostgreSQL and Citus, only catalogs change. SQLite cannot rename an index, so three are created
again. A process of an earlier version that is still running cannot write afterwards: the counters
of its creations and deletions, and the event stream of all its changes, have other names.

The order is that in which transactions use the tables, so that there is no deadlock with them.
"""

from peewee import PostgresqlDatabase

TABLES = {"kept_answer": "idempotent_response", "subscriber_block": "subscriber_bucket"}
COLUMNS = {
    "idempotent_response": {"answer": "response"},
    "event_stream": {"webhooks": "webhook_count"},
    "delivery_queue": {"expanded": "expanded_sequence"},
    "event": {"kind": "event_type"},
    "delivery": {"kind": "event_type"},
    "delivery_attempt": {
        "place": "position",
        "milliseconds": "duration_ms",
        "answer": "response_body",
    },
}
# The name before, and the columns after the account.
INDEXES = {
    "idempotent_response": ("keptanswer_account_id_created_at_key", ("created_at", "key")),
    "event": ("event_account_id_kind_sequence", ("event_type", "sequence")),
    "delivery_attempt": ("deliveryattempt_account_id_place", ("position",)),
}


def up(migrator, db):
    is_postgres = isinstance(db, PostgresqlDatabase)
    for old, new in TABLES.items():
        db.execute_sql(f'ALTER TABLE "{old}" RENAME TO "{new}"')
        if is_postgres:
            db.execute_sql(f'ALTER INDEX "{old}_pkey" RENAME TO "{new}_pkey"')
    for table, names in COLUMNS.items():
        for old, new in names.items():
            db.execute_sql(f'ALTER TABLE "{table}" RENAME COLUMN "{old}" TO "{new}"')
    for table, (old, columns) in INDEXES.items():
        new = "_".join((table.replace("_", ""), "account_id", *columns))
        if is_postgres:
            db.execute_sql(f'ALTER INDEX "{old}" RENAME TO "{new}"')
            continue
        names = ", ".join(f'"{name}"' for name in ("account_id", *columns))
        db.execute_sql(f'DROP INDEX "{old}"')
        db.execute_sql(f'CREATE UNIQUE INDEX "{new}" ON "{table}" ({names})')
