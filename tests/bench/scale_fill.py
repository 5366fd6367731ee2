"""Tables of any size, with the real schema, in seconds: rows are made where they are kept.

Addresses are spread evenly, as those of people are, so that an index of them is entered
anywhere. What the stores count is put beside the rows as if they had come one by one.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, NamedTuple

from server.clock import system_clock
from server.config import PostgresUrl, parse_database_url
from server.ids import Ids
from server.storage.databases import bring_up_to_date
from server.storage.postgres.connection import connect
from server.storage.postgres.transaction import WriteTransaction
from server.storage.sqlite import file
from server.storage.transaction import Transaction
from server.subscribers.counters.store_buckets import (
    BEGIN,
    BUCKET,
    BUCKET_SIZE,
    GROUP,
    GROUP_SIZE,
    OPEN_BUCKET,
)
from server.tags import store as tags

ACCOUNT = "A" * 26
# The beginning of all ids: a moment in 2025.
_MOMENT = "01K7Y2MPAQ"


class Words(NamedTuple):
    """What the databases say in words of their own."""

    numbers: str
    id: str
    spread: str
    prepare: tuple[str, ...]


_SPREAD = "n * 2654435761 % 4294967296"
_SQLITE = Words(
    numbers="WITH RECURSIVE numbers(n) AS"
    " (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)",
    id=f"printf('{_MOMENT}%016d', n)",
    spread=f"printf('%08x', {_SPREAD})",
    prepare=(
        "PRAGMA synchronous = off",
        "PRAGMA foreign_keys = off",
        "PRAGMA cache_size = -500000",
    ),
)
_POSTGRES = Words(
    numbers="WITH numbers(n) AS (SELECT generate_series(0, %s - 1)::bigint)",
    id=f"'{_MOMENT}' || lpad(n::text, 16, '0')",
    spread=f"lpad(to_hex({_SPREAD.replace('%', '%%')}), 8, '0')",
    prepare=("SET statement_timeout = 0", "SET session_replication_role = replica"),
)
_COLUMNS = (
    "account_id, id, email, email_key, first_name, last_name, status, created_at, name_key,"
    " last_name_key"
)


def fill(url: str, count: int) -> None:
    """Makes a database with so many subscribers, who have a tag each."""
    bring_up_to_date(url)
    if count == 0:
        return
    place = parse_database_url(url)
    if isinstance(place, PostgresUrl):
        with closing(connect(place.url)) as database:
            _fill(WriteTransaction(database, system_clock, Ids(system_clock)), _POSTGRES, count)
            database.execute_sql("VACUUM ANALYZE")
        return
    with closing(file.connect(place)) as database:
        tx = Transaction(database, file.DIALECT, system_clock, Ids(system_clock))
        _fill(tx, _SQLITE, count)
        database.execute_sql("PRAGMA wal_checkpoint(truncate)")


def _fill(tx: Transaction, words: Words, count: int) -> None:
    database: Any = tx._database
    for sql in words.prepare:
        database.execute_sql(sql)
    database.execute_sql("BEGIN")
    address = f"{words.spread} || '@example.com'"
    database.execute_sql(
        f"INSERT INTO subscriber ({_COLUMNS}) {words.numbers} SELECT '{ACCOUNT}', {words.id},"
        f" {address}, {address}, 'Ada', 'Lovelace', 2, 1760000000000, 'ada lovelace', 'lovelace'"
        " FROM numbers",
        (count,),
    )
    tag = tags.ensure(ACCOUNT, {"newsletter": "newsletter"}, tx)["newsletter"]
    database.execute_sql(
        "INSERT INTO subscriber_tag (account_id, subscriber_id, tag_id)"
        f" SELECT account_id, id, '{tag.id}' FROM subscriber"
    )
    tx.run(BEGIN, account_id=ACCOUNT, rows=_stretches(count))
    database.execute_sql("COMMIT")


def _stretches(count: int) -> list[tuple[int, str, int]]:
    """Returns what has been counted once so many have come, one after the other."""
    closed = max(count // BUCKET_SIZE - 1, 0) * BUCKET_SIZE
    rows = [(OPEN_BUCKET, _begin(closed), count - closed)]
    for level, size in ((BUCKET, BUCKET_SIZE), (GROUP, BUCKET_SIZE * GROUP_SIZE)):
        rows += [(level, _begin(n), min(size, closed - n)) for n in range(0, closed, size)]
    return rows


def _begin(number: int) -> str:
    return f"{_MOMENT}{number:016}" if number else ""
