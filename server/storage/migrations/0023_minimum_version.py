"""Makes this the minimum version, because earlier programs do not read it and cannot write."""


def up(migrator, db):
    db.execute_sql("UPDATE schema_version SET minimum_version = 23")
