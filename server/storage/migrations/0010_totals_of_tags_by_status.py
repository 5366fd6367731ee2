"""Counts the subscribers with a tag by status, instead of all of them together."""

COUNT = (
    "DELETE FROM statistic WHERE day = 0 AND name >= 'tag:' AND name < 'tag~'",
    "INSERT INTO statistic (account_id, day, name, total)"
    " SELECT t.account_id, 0, 'tag:' || t.tag_id || ':' || s.status, COUNT(*)"
    " FROM subscriber_tag AS t JOIN subscriber AS s"
    " ON s.account_id = t.account_id AND s.id = t.subscriber_id"
    " GROUP BY t.account_id, t.tag_id, s.status",
)


def up(migrator, db):
    for statement in COUNT:
        db.execute_sql(statement)
