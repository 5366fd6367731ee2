"""The table of stored responses to requests with an idempotency key."""

from __future__ import annotations

from peewee import BigIntegerField, BlobField, CompositeKey, Model, TextField


class IdempotentResponse(Model):
    """The encrypted response to the first request with a key; `fingerprint` is of that request.

    `persons` are the digests of the persons that the request or the response names. It is null if
    they are not known, as in rows of earlier versions.
    """

    account_id = TextField()
    key = TextField()
    fingerprint = TextField()
    response = BlobField()
    created_at = BigIntegerField()
    persons = TextField(null=True)

    class Meta:
        table_name = "idempotent_response"
        primary_key = CompositeKey("account_id", "key")
        indexes = ((("account_id", "created_at", "key"), True),)
        without_rowid = True
