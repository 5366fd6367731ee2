"""The tables of subscribers."""

from __future__ import annotations

from peewee import SQL, BigIntegerField, CompositeKey, Model, SmallIntegerField, TextField


class Subscriber(Model):
    """A subscriber; `email_key` is the normal form of the address.

    `name_key` and `last_name_key` are for searches by name, see `rules.SearchKeys`.
    `email_unicode_key` is the email key with its domain in Unicode, or null if that is equal.
    Migrations add indexes of domains and of Gmail mailboxes: their expressions depend on the
    database. `revision` is explained in `store_revisions.py`. `status_revision` is the revision at
    the last change of the status, or 0; `inserted_revision` at the creation, or 0 in rows of
    earlier versions. `origin` is the first entry of the history, stored here so that a creation
    inserts one row; null in rows of earlier versions.
    """

    account_id = TextField()
    id = TextField()
    email = TextField()
    email_key = TextField()
    first_name = TextField()
    last_name = TextField()
    status = SmallIntegerField()
    created_at = BigIntegerField()
    name_key = TextField(null=True)
    last_name_key = TextField(null=True)
    email_unicode_key = TextField(null=True)
    revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])
    status_changed_at = BigIntegerField(null=True)
    confirmed_at = BigIntegerField(null=True)
    unsubscribed_at = BigIntegerField(null=True)
    consent_at = BigIntegerField(null=True)
    consent_source = TextField(null=True)
    consent_ip = TextField(null=True)
    origin = TextField(null=True)
    status_revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])
    inserted_revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        indexes = (
            (("account_id", "email_key"), True),
            (("account_id", "status", "id"), True),
            (("account_id", "revision", "id"), True),
        )
        without_rowid = True


# After the ID, an index contains the keys that a search also compares, see `store_search.py`.
for _name, _key, *_others in (
    ("name", Subscriber.name_key, Subscriber.email_key),
    ("last_name", Subscriber.last_name_key, Subscriber.name_key, Subscriber.email_key),
    ("email_unicode", Subscriber.email_unicode_key),
):
    Subscriber.add_index(
        Subscriber.account_id,
        _key,
        Subscriber.id,
        *_others,
        name=f"subscriber_by_{_name}",
        unique=True,
        where=_key.is_null(False),
    )


# For lists by last name, and by the time of the last change of the status. Without a last name,
# subscribers are in the order of IDs. Without a change, they are read from `subscriber_by_id`.
Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.id,
    name="subscriber_without_last_name",
    where=Subscriber.last_name_key.is_null(),
)
Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.status_changed_at,
    Subscriber.id,
    name="subscriber_by_status_changed_at",
    where=Subscriber.status_changed_at.is_null(False),
)

# A scan for a filter reads this index, which takes less time than reading the rows.
# A part of an address or a name is searched here too (`email:"a1b2"` in `make bench-scale`). An
# index of trigrams would find a rare part in a few milliseconds, and one that many addresses have
# in less time only on SQLite. But each insertion would take 11 µs longer on SQLite (FTS5), and
# 15 µs on PostgreSQL (pg_trgm): 18 % and 10 % of an import.
Subscriber.add_index(
    Subscriber.account_id,
    Subscriber.id,
    Subscriber.status,
    Subscriber.status_changed_at,
    Subscriber.confirmed_at,
    Subscriber.unsubscribed_at,
    Subscriber.email_key,
    Subscriber.email_unicode_key,
    Subscriber.first_name,
    Subscriber.last_name,
    name="subscriber_by_id",
)


class SubscriberBucket(Model):
    """The number of subscribers in a range of IDs, see `counters/store_counting.py`."""

    account_id = TextField()
    level = SmallIntegerField()
    first_id = TextField()
    total = BigIntegerField()

    class Meta:
        table_name = "subscriber_bucket"
        primary_key = CompositeKey("account_id", "level", "first_id")
        without_rowid = True


class DeletedRevision(Model):
    """The greatest revision of the deleted subscribers of an account."""

    account_id = TextField(primary_key=True)
    revision = BigIntegerField()

    class Meta:
        table_name = "deleted_revision"
        without_rowid = True


class SubscriberHistory(Model):
    """A change of a subscriber, with its source and actor. Deleted with the subscriber.

    `changes` is JSON, see `history.py`. `operation_id` is the operation that made the change, or
    null.
    """

    account_id = TextField()
    subscriber_id = TextField()
    id = TextField()
    type = TextField()
    source = TextField()
    actor = TextField()
    changes = TextField()
    operation_id = TextField(null=True)

    class Meta:
        table_name = "subscriber_history"
        primary_key = CompositeKey("account_id", "subscriber_id", "id")
        constraints = [  # noqa: RUF012 - Peewee reads it from the class
            SQL(
                "FOREIGN KEY (account_id, subscriber_id)"
                " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
            ),
        ]
        without_rowid = True
