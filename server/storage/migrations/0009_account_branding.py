"""Adds the display name, color and logo of accounts.

On Citus, the new table is distributed like the table of subscribers.
"""

from peewee import SQL, BlobField, Model, PostgresqlDatabase, TextField


class Account(Model):
    id = TextField(primary_key=True)
    display_name = TextField(constraints=[SQL("DEFAULT ''")])
    color = TextField(constraints=[SQL("DEFAULT ''")])

    class Meta:
        table_name = "account"
        without_rowid = True


class AccountLogo(Model):
    account_id = TextField(primary_key=True)
    content_type = TextField()
    data = BlobField()

    class Meta:
        table_name = "account_logo"
        without_rowid = True


def up(migrator, db):
    with db.bind_ctx([AccountLogo]):
        db.create_tables([AccountLogo])
        if isinstance(db, PostgresqlDatabase) and is_distributed(db):
            db.execute_sql(
                "SELECT create_distributed_table('account_logo', 'account_id',"
                " colocate_with => 'subscriber')"
            )
    # Afterwards: Citus reads reference tables over another connection while it distributes a table,
    # and would wait for the lock of this change.
    existing = {column.name for column in db.get_columns("account")}
    for field in (Account.display_name, Account.color):
        if field.name not in existing:
            column = field.ddl(db.get_sql_context())
            definition, _ = db.get_sql_context().sql(column).query()
            db.execute_sql(f"ALTER TABLE account ADD COLUMN {definition}")


def is_distributed(db):
    if db.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        return False
    text = "SELECT citus_table_type FROM citus_tables WHERE table_name = 'subscriber'::regclass"
    return db.execute_sql(text).fetchone() == ("distributed",)
