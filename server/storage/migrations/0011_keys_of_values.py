"""Adds columns for comparisons with values of custom fields, and an index that contains them."""

from peewee import CompositeKey, DoubleField, Model, PostgresqlDatabase, TextField


class CustomValue(Model):
    account_id = TextField()
    subscriber_id = TextField()
    key = TextField()
    value = TextField()
    text_key = TextField(null=True)
    number_key = DoubleField(null=True)

    class Meta:
        table_name = "custom_value"
        primary_key = CompositeKey("account_id", "subscriber_id", "key")
        indexes = ((("account_id", "key", "subscriber_id", "text_key", "number_key"), True),)
        without_rowid = True


ADDED = (CustomValue.text_key, CustomValue.number_key)
SQLITE = (
    "UPDATE custom_value SET text_key = CASE WHEN value LIKE '\"%'"
    " THEN substr(value ->> '$', 1, 64) END,"
    " number_key = CASE WHEN value LIKE '\"%' THEN NULL WHEN value = 'true' THEN 1"
    " WHEN value = 'false' THEN 0 ELSE CAST(value AS REAL) END",
    "UPDATE custom_value SET number_key = round(unixepoch(value ->> '$', 'subsec') * 1000)"
    " FROM custom_field AS f WHERE f.account_id = custom_value.account_id"
    " AND f.key = custom_value.key AND f.data_type = 4",
)


def part(pattern, default):
    """Returns the text of a part of a date in SQL."""
    return f"COALESCE(substring(text_key from '{pattern}'), '{default}')"


# Of a date, or of a time with an optional offset. Citus does not accept casts to times here, which
# depend on settings.
MILLISECONDS = (
    f"(make_date({part('^....', '')}::int, {part('^....-(..)', '')}::int,"
    f" {part('^....-..-(..)', '')}::int) - DATE '1970-01-01')::bigint * 86400000"
    f" + {part('T(..)', 0)}::int * 3600000 + {part('T..:(..)', 0)}::int * 60000"
    f" + trunc({part('T..:..:([0-9.]+)', 0)}::numeric * 1000)"
    f" - ({part('T.*([+-])..:..$', '')} || '1')::int * 60000"
    f" * ({part('T.*[+-](..):..$', 0)}::int * 60 + {part('T.*[+-]..:(..)$', 0)}::int)"
)
# The first writes the table once. An UPDATE would write each row again.
POSTGRES = (
    'ALTER TABLE custom_value ALTER COLUMN text_key TYPE TEXT COLLATE "C" USING'
    " CASE WHEN starts_with(value, '\"') THEN left(value::json #>> '{}', 64) END,"
    " ALTER COLUMN number_key TYPE DOUBLE PRECISION USING"
    " CASE WHEN starts_with(value, '\"') THEN NULL WHEN value = 'true' THEN 1"
    " WHEN value = 'false' THEN 0 ELSE value::float8 END",
    f"UPDATE custom_value SET number_key = {MILLISECONDS}"  # noqa: S608 - no values in it
    " FROM custom_field AS f WHERE f.account_id = custom_value.account_id"
    " AND f.key = custom_value.key AND f.data_type = 4",
)


def up(migrator, db):
    existing = {column.name for column in db.get_columns("custom_value")}
    for field in ADDED:
        if field.name not in existing:
            column = field.ddl(db.get_sql_context())
            definition, _ = db.get_sql_context().sql(column).query()
            db.execute_sql(f"ALTER TABLE custom_value ADD COLUMN {definition}")
    db.execute_sql("DROP INDEX IF EXISTS customvalue_account_id_key_subscriber_id")
    for statement in POSTGRES if isinstance(db, PostgresqlDatabase) else SQLITE:
        db.execute_sql(statement)
    with db.bind_ctx([CustomValue]):
        db.create_tables([CustomValue])  # The table exists: this creates the index.
