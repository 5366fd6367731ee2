"""Adds indexes of deleted tags and custom fields, whose links and values are being removed."""


def up(migrator, db):
    for table, key in (("tag", "name_key"), ("custom_field", "label_key")):
        db.execute_sql(
            f'CREATE UNIQUE INDEX IF NOT EXISTS "{table}_deleted"'
            f' ON "{table}" ("account_id", "id") WHERE ("{key}" < \' \')'
        )
