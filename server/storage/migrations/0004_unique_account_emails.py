"""Makes the email addresses of accounts unique.

Older versions accepted any number of accounts with one address. All of them stay and keep
working: the oldest gets the comparison key of the address, the others none (null), which the
unique index does not compare. A new account cannot have an address that is in use.
"""

import unicodedata

import email_validator
from peewee import Model, TextField


class Account(Model):
    id = TextField(primary_key=True)
    email = TextField()
    email_key = TextField(null=True, unique=True)

    class Meta:
        table_name = "account"
        without_rowid = True


def comparison_key(text):
    """Returns the comparison key of an address, or the text itself if it is not an address."""
    address = text.strip(" \t\u00a0")
    if len(address) > 254 or len(text) > 320:
        return text
    email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()
    try:
        parsed = email_validator.validate_email(address, check_deliverability=False, strict=True)
    except email_validator.EmailNotValidError:
        return text
    local = unicodedata.normalize("NFC", parsed.local_part).lower()
    return f"{unicodedata.normalize('NFC', local)}@{parsed.ascii_domain.lower()}"


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
