"""The table of stored responses to requests with an idempotency key."""

from __future__ import annotations

from peewee import BigIntegerField, BlobField, CompositeKey, Model, TextField


class StoredResponse(Model):
    """The encrypted response to the first request with a key; `fingerprint` is of that request.

    `persons` are the digests of the persons that the request or the response names. It is null if
    they are not known, as in rows of earlier versions.
    """

    account_id = TextField()
    key = TextField()
    fingerprint = TextField()
    answer = BlobField()
    created_at = BigIntegerField()
    persons = TextField(null=True)

    class Meta:
        table_name = "kept_answer"
        primary_key = CompositeKey("account_id", "key")
        without_rowid = True


StoredResponse.add_index(
    StoredResponse.account_id,
    StoredResponse.created_at,
    StoredResponse.key,
    name="keptanswer_account_id_created_at_key",
    unique=True,
)
