"""Makes operations of the running replays, which had a table of their own.

A replay has no time range then, and continues after the last event that it has delivered.
"""

import json


def up(migrator, db):
    if not db.table_exists("webhook_replay"):
        return
    replays = db.execute_sql(
        "SELECT account_id, id, webhook_id, event_types, only_failed, after_sequence,"
        " until_sequence, created_at FROM webhook_replay"
    ).fetchall()
    for account_id, id_, webhook_id, event_types, only_failed, after, until, created_at in replays:
        replay = {
            "webhookId": webhook_id,
            "eventTypes": json.loads(event_types),
            "onlyFailed": bool(only_failed),
        }
        request = {"replay": replay, "until_sequence": until, "key_id": ""}
        values = {
            "account_id": account_id,
            "id": id_,
            # RUNNING
            "state": 1,
            "request": json.dumps(request),
            "total": max(until - after, 0),
            "processed": 0,
            "failed": "[]",
            "after_id": f"{after:016}",
            "runner": "",
            "created_at": created_at,
            "updated_at": created_at,
            "changed": 0,
            "unchanged": 0,
        }
        marks = ", ".join([db.param] * len(values))
        insert = f"INSERT INTO operation ({', '.join(values)}) VALUES ({marks})"  # noqa: S608
        db.execute_sql(insert, tuple(values.values()))
    db.execute_sql("DROP TABLE webhook_replay")
