"""Adds indexes for lists by last name and by the time of the last change of the status.

The key of a last name without a first name was stored as the name key only. A subscriber that a
program of an earlier version stores after the backfill is listed like one without a last name,
until its name changes.
"""

TABLE = "subscriber"


def indexes(db):
    # Quoted as by Peewee, because SQLite stores the text.
    return {
        "subscriber_without_last_name": (
            'ON "subscriber" ("account_id", "id") WHERE ("last_name_key" IS NULL)'
        ),
        "subscriber_by_status_changed_at": (
            'ON "subscriber" ("account_id", "status_changed_at", "id")'
            ' WHERE ("status_changed_at" IS NOT NULL)'
        ),
    }


def backfill(db, position, limit):
    mark = db.param
    account_id, _, after = position.partition(" ")
    rows = db.execute_sql(
        "SELECT account_id, id, last_name FROM subscriber WHERE last_name_key IS NULL"  # noqa: S608
        f" AND (account_id, id) > ({mark}, {mark}) ORDER BY account_id, id LIMIT {mark}",
        (account_id, after, limit),
    ).fetchall()
    if not rows:
        return None
    for account_id, id_, last_name in rows:
        if last_name.strip():
            db.execute_sql(
                "UPDATE subscriber SET last_name_key = name_key WHERE account_id ="  # noqa: S608
                f" {mark} AND id = {mark} AND last_name_key IS NULL AND last_name = {mark}",
                (account_id, id_, last_name),
            )
    account_id, id_, _ = rows[-1]
    return f"{account_id} {id_}", len(rows)
