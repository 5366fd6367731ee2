"""Adds the numbers of subscribers that an operation changed and left as they were.

They are null for stored operations.
"""

from peewee import PostgresqlDatabase


def up(migrator, db):
    column_type = "BIGINT" if isinstance(db, PostgresqlDatabase) else "INTEGER"
    existing = {column.name for column in db.get_columns("operation")}
    for name in ("changed", "unchanged"):
        if name not in existing:
            db.execute_sql(f'ALTER TABLE operation ADD COLUMN "{name}" {column_type}')
