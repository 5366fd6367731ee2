"""Fills tables of any size in seconds, with the real schema and set-based statements.

Addresses are distributed evenly, so that rows enter an index at random positions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from rosterd.server.features.statistics.rules import STATUS, TAG, TOTALS
from rosterd.server.features.statistics.store import add
from rosterd.server.features.subscribers.counters.store_counting import rebuild_counters
from rosterd.server.features.tags import store as tags
from rosterd.server.storage.databases import bring_up_to_date
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.transaction import WriteTransaction
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.database_url import PostgresUrl, parse_database_url
from rosterd.server.values.ids import Ids, timestamp_of

ACCOUNT = "A" * 26
# The prefix of all ids: a timestamp in 2025.
_ID_PREFIX = "01K7Y2MPAQ"


class Fragments(NamedTuple):
    """SQL fragments that differ between the databases.

    `numbers`, `spread` and `date` have an argument: a count, and expressions for a number, which
    is spread evenly over texts, and for seconds since 1970.
    """

    numbers: Callable[[object], str]
    id: str
    spread: Callable[[str], str]
    date: Callable[[str], str]
    prepare: tuple[str, ...]


SQLITE = Fragments(
    numbers=lambda count: (
        "WITH RECURSIVE numbers(n) AS"
        f" (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < {count})"
    ),
    id=f"printf('{_ID_PREFIX}%016d', n)",
    spread=lambda number: f"printf('%08x', {number} * 2654435761 % 4294967296)",
    date=lambda seconds: f"date({seconds}, 'unixepoch')",
    prepare=(
        "PRAGMA synchronous = off",
        "PRAGMA foreign_keys = off",
        "PRAGMA cache_size = -500000",
    ),
)
POSTGRES = Fragments(
    numbers=lambda count: f"WITH numbers(n) AS (SELECT generate_series(0, {count} - 1)::bigint)",
    id=f"'{_ID_PREFIX}' || lpad(n::text, 16, '0')",
    spread=lambda number: f"lpad(to_hex(mod({number} * 2654435761, 4294967296)), 8, '0')",
    date=lambda seconds: f"to_char(to_timestamp({seconds}) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    prepare=("SET statement_timeout = 0", "SET session_replication_role = replica"),
)
_COLUMNS = (
    "account_id, id, email, email_key, first_name, last_name, status, created_at, name_key,"
    " last_name_key, revision"
)


def fill(url: str, count: int, account: str = ACCOUNT) -> None:
    """Creates a database with so many subscribers, each with one tag."""
    bring_up_to_date(url)
    if count == 0:
        return
    database_url = parse_database_url(url)
    if isinstance(database_url, PostgresUrl):
        with closing(connect(database_url.url)) as database:
            tx = WriteTransaction(database, system_clock, Ids(system_clock))
            _fill(database, tx, POSTGRES, count, account)
            database.execute_sql("VACUUM ANALYZE")
        return
    with closing(file.connect(database_url)) as database:
        own = Transaction(database, file.DIALECT, system_clock, Ids(system_clock))
        _fill(database, own, SQLITE, count, account)
        database.execute_sql("PRAGMA wal_checkpoint(truncate)")


def _fill(database: Any, tx: Transaction, fragments: Fragments, count: int, account: str) -> None:
    for sql in fragments.prepare:
        database.execute_sql(sql)
    database.execute_sql("BEGIN")
    address = f"{fragments.spread('n')} || '@example.com'"
    database.execute_sql(
        f"INSERT INTO subscriber ({_COLUMNS}) {fragments.numbers(count)} SELECT '{account}',"
        f" {fragments.id}, {address}, {address}, 'Ada', 'Lovelace', 2, 1760000000000,"
        f" 'ada lovelace', 'lovelace', {timestamp_of(_ID_PREFIX) * 1000}"
        " FROM numbers"
    )
    tag = tags.ensure(account, {"newsletter": "newsletter"}, tx)["newsletter"]
    database.execute_sql(
        "INSERT INTO subscriber_tag (account_id, subscriber_id, tag_id)"
        f" SELECT account_id, id, '{tag.id}' FROM subscriber"
    )
    rebuild_counters(account, tx)
    add(account, {(TOTALS, f"{STATUS}2"): count, (TOTALS, f"{TAG}{tag.id}:2"): count}, tx)
    database.execute_sql("COMMIT")
