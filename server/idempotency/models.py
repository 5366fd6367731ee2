"""The table of answers that are kept for idempotency keys."""

from __future__ import annotations

from peewee import BigIntegerField, BlobField, CharField, CompositeKey, Model


class KeptAnswer(Model):
    """The answer to the first request with a key, sealed; `fingerprint` tells that request."""

    account_id = CharField(26)
    key = CharField(255)
    fingerprint = CharField(64)
    answer = BlobField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "kept_answer"
        primary_key = CompositeKey("account_id", "key")
        indexes = ((("account_id", "created_at", "key"), True),)
        without_rowid = True
