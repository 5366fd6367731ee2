"""Makes the email addresses of accounts unique.

Older versions accepted any number of accounts with one address. All of them stay and keep
working: the oldest gets the comparison key of the address, the others none (null), which the
unique index does not compare. A new account cannot have an address that is in use.
"""

from peewee import Model, TextField

from server.emails import comparison_key


class Account(Model):
    id = TextField(primary_key=True)
    email = TextField()
    email_key = TextField(null=True, unique=True)

    class Meta:
        table_name = "account"
        without_rowid = True


def up(migrator, db):
    if "email_key" not in {column.name for column in db.get_columns("account")}:
        migrator.migrate(migrator.add_column("account", "email_key", TextField(null=True)))
    with db.bind_ctx([Account]):
        oldest: dict[str, str] = {}
        for account_id, email in (
            Account.select(Account.id, Account.email).order_by(Account.id).tuples()
        ):
            oldest.setdefault(comparison_key(email), account_id)
        for key, account_id in oldest.items():
            Account.update(email_key=key).where(Account.id == account_id).execute()
        db.create_tables([Account])  # The table exists: this creates the index.
