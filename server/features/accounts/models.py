"""The tables of accounts, their logos and API keys.

With Citus, accounts and keys are reference tables, which every node has, so that a key can be found
before its account is known.
"""

from __future__ import annotations

from peewee import (
    SQL,
    BigIntegerField,
    BlobField,
    BooleanField,
    CompositeKey,
    Model,
    TextField,
)


class Account(Model):
    """The owner of subscribers, tags, custom fields and keys.

    `email_key` is the normalized address. It is null for an account that had the address of an
    older account before addresses became unique (migration 0004).
    """

    id = TextField(primary_key=True)
    email = TextField()
    email_verified = BooleanField()
    created_at = BigIntegerField()
    email_key = TextField(null=True, unique=True)
    display_name = TextField(constraints=[SQL("DEFAULT ''")])
    color = TextField(constraints=[SQL("DEFAULT ''")])

    class Meta:
        table_name = "account"
        without_rowid = True


class AccountLogo(Model):
    """The logo on the pages of an account."""

    account_id = TextField(primary_key=True)
    content_type = TextField()
    data = BlobField()

    class Meta:
        table_name = "account_logo"
        without_rowid = True


class ApiKey(Model):
    """An API key. Only the SHA-256 of its secret is stored.

    `created_by` is the ID of the API key or session that created it, empty for the command line,
    and null for keys of earlier versions. `created_by_type` is a type of actor, or null for the
    first and the second of these. The previous secret works until `previous_expires_at`.
    """

    account_id = TextField()
    id = TextField()
    name = TextField()
    scope = TextField()
    secret_hash = TextField(unique=True)
    created_at = BigIntegerField()
    expires_at = BigIntegerField(null=True)
    last_used_at = BigIntegerField(null=True)
    created_by = TextField(null=True)
    created_by_name = TextField(null=True)
    previous_secret_hash = TextField(null=True, unique=True)
    previous_expires_at = BigIntegerField(null=True)
    created_by_type = TextField(null=True)

    class Meta:
        table_name = "api_key"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True


class NamedActor(Model):
    """The name of an actor that the history refers to by its ID, see `actors_by_id`.

    It is kept as long as the account.
    """

    account_id = TextField()
    id = TextField()
    type = TextField()
    name = TextField()

    class Meta:
        table_name = "actor"
        primary_key = CompositeKey("account_id", "id")
        without_rowid = True
