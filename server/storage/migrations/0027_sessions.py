"""Adds sessions and sign-in links. A start distributes the tables in a distributed database."""

from peewee import BigIntegerField, CompositeKey, Model, TextField


class Session(Model):
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


def up(migrator, db):
    models = [Session, SignInLink]
    with db.bind_ctx(models):
        db.create_tables(models)
