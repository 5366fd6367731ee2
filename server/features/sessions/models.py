"""The tables of sessions and sign-in links. Only the SHA-256 of their tokens is stored."""

from __future__ import annotations

from peewee import BigIntegerField, CompositeKey, Model, TextField


class Session(Model):
    """A person who is signed in.

    `api_key_id` and `api_key_hash` are the key that it began with, and the hash of its secret; null
    for a link.
    """

    account_id = TextField()
    id = TextField()
    name = TextField()
    scope = TextField()
    secret_hash = TextField()
    created_at = BigIntegerField()
    expires_at = BigIntegerField()
    last_used_at = BigIntegerField()
    api_key_id = TextField(null=True)
    api_key_hash = TextField(null=True)

    class Meta:
        table_name = "session"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "secret_hash"), True),)
        without_rowid = True


class SignInLink(Model):
    """A link that begins a session with its name and scope. It is deleted when it is used."""

    account_id = TextField()
    id = TextField()
    name = TextField()
    scope = TextField()
    secret_hash = TextField()
    created_at = BigIntegerField()
    expires_at = BigIntegerField()

    class Meta:
        table_name = "sign_in_link"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "secret_hash"), True),)
        without_rowid = True
