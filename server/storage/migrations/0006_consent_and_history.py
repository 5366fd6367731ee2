"""Adds the revision, the status times, the consent and the history of subscribers.

Also adds the subscriber that an event is about.

Subscribers of earlier versions get their time of creation as revision, and no origin. On Citus,
the new tables are distributed like the table of subscribers.
"""

from peewee import SQL, BigIntegerField, CompositeKey, Model, PostgresqlDatabase, TextField


class Subscriber(Model):
    account_id = TextField()
    id = TextField()
    created_at = BigIntegerField()
    revision = BigIntegerField(constraints=[SQL("DEFAULT 0")])
    status_changed_at = BigIntegerField(null=True)
    confirmed_at = BigIntegerField(null=True)
    unsubscribed_at = BigIntegerField(null=True)
    consent_at = BigIntegerField(null=True)
    consent_source = TextField(null=True)
    consent_ip = TextField(null=True)
    origin = TextField(null=True)

    class Meta:
        table_name = "subscriber"
        primary_key = CompositeKey("account_id", "id")
        indexes = ((("account_id", "revision", "id"), True),)
        without_rowid = True


class Event(Model):
    account_id = TextField()
    sequence = BigIntegerField()
    subscriber_id = TextField(null=True)

    class Meta:
        table_name = "event"
        primary_key = CompositeKey("account_id", "sequence")
        without_rowid = True


Event.add_index(
    Event.account_id,
    Event.subscriber_id,
    Event.sequence,
    name="event_by_subscriber",
    unique=True,
    where=Event.subscriber_id.is_null(False),
)


class DeletedRevision(Model):
    account_id = TextField(primary_key=True)
    revision = BigIntegerField()

    class Meta:
        table_name = "deleted_revision"
        without_rowid = True


OF_SUBSCRIBER = (
    "FOREIGN KEY (account_id, subscriber_id)"
    " REFERENCES subscriber (account_id, id) ON DELETE CASCADE"
)


class SubscriberHistory(Model):
    account_id = TextField()
    subscriber_id = TextField()
    id = TextField()
    type = TextField()
    source = TextField()
    actor = TextField()
    changes = TextField()

    class Meta:
        table_name = "subscriber_history"
        primary_key = CompositeKey("account_id", "subscriber_id", "id")
        constraints = [SQL(OF_SUBSCRIBER)]  # noqa: RUF012 - Peewee reads it from the class
        without_rowid = True


TABLES = [DeletedRevision, SubscriberHistory]
ADDED = (
    Subscriber.revision,
    Subscriber.status_changed_at,
    Subscriber.confirmed_at,
    Subscriber.unsubscribed_at,
    Subscriber.consent_at,
    Subscriber.consent_source,
    Subscriber.consent_ip,
    Subscriber.origin,
)


UPDATE = (
    "UPDATE subscriber SET revision = created_at * 1000 WHERE revision = 0",
    "UPDATE event SET subscriber_id = envelope ->> '$.data.subscriber.id'"
    " WHERE kind LIKE 'subscriber.%'",
)
# Each writes its table once. An UPDATE would add an entry to every index for each row.
REWRITE = (
    "ALTER TABLE subscriber ALTER COLUMN revision TYPE BIGINT USING"
    " CASE revision WHEN 0 THEN created_at * 1000 ELSE revision END",
    'ALTER TABLE event ALTER COLUMN subscriber_id TYPE TEXT COLLATE "C" USING'
    " CASE WHEN starts_with(kind, 'subscriber.')"
    " THEN envelope::json -> 'data' -> 'subscriber' ->> 'id' END",
)


def up(migrator, db):
    for table, fields in (("subscriber", ADDED), ("event", [Event.subscriber_id])):
        existing = {column.name for column in db.get_columns(table)}
        for field in fields:
            if field.name not in existing:
                column = field.ddl(db.get_sql_context())
                definition, _ = db.get_sql_context().sql(column).query()
                db.execute_sql(f"ALTER TABLE {table} ADD COLUMN {definition}")
    postgres = isinstance(db, PostgresqlDatabase)
    for statement in REWRITE if postgres else UPDATE:
        db.execute_sql(statement)
    with db.bind_ctx([Subscriber, Event, *TABLES]):
        db.create_tables([Subscriber, Event])  # The tables exist: this creates the indexes.
        if postgres and is_distributed(db):
            create_distributed(db)
        else:
            db.create_tables(TABLES)


def is_distributed(db):
    if db.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        return False
    text = "SELECT citus_table_type FROM citus_tables WHERE table_name = 'subscriber'::regclass"
    return db.execute_sql(text).fetchone() == ("distributed",)


def create_distributed(db):
    """Creates the tables; a local table cannot have a foreign key to a distributed one."""
    SubscriberHistory._meta.constraints = []
    db.create_tables(TABLES)
    for model in TABLES:
        text = "SELECT create_distributed_table(%s, 'account_id', colocate_with => 'subscriber')"
        db.execute_sql(text, (model._meta.table_name,))
    db.execute_sql(f"ALTER TABLE subscriber_history ADD {OF_SUBSCRIBER}")
