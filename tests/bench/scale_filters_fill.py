"""Fills an account with subscribers that have 5 tags and 10 custom fields each.

Names, domains, statuses, tags and values depend neither on each other nor on the order of IDs.
One subscriber in twenty has no last name. The status of each that opted out has changed.
Indexes are created afterwards, which takes a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.subscribers.counters.store_counting import rebuild_counters
from rosterd.server.storage.databases import bring_up_to_date, unit_of_work
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.sqlite import file
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from ..storage.helpers import field
from .scale_fill import ACCOUNT, POSTGRES, SQLITE, Fragments

# The kinds of tags, with the number of tags of each kind.
TAGS = {"all": 1, "half": 2, "tenth": 10, "hundredth": 100, "k": 1000}
_DAY, _FIRST_DAY = 86_400, 1_600_000_000
_TOTALS = (
    "SELECT account_id, 0, 'status:' || status, COUNT(*) FROM subscriber"
    " GROUP BY account_id, status",
    "SELECT t.account_id, 0, 'tag:' || t.tag_id || ':' || s.status, COUNT(*)"
    " FROM subscriber_tag AS t JOIN subscriber AS s"
    " ON s.account_id = t.account_id AND s.id = t.subscriber_id"
    " GROUP BY t.account_id, t.tag_id, s.status",
)


class Value(NamedTuple):
    """SQL expressions for the columns of a custom value, and the type of its field."""

    data_type: DataType
    value: str
    text_key: str = "NULL"
    number_key: str = "NULL"


def fill_for_filters(url: str, count: int) -> None:
    """Creates a database with so many subscribers."""
    bring_up_to_date(url)
    database_url = parse_database_url(url)
    is_postgres = isinstance(database_url, PostgresUrl)
    fragments = POSTGRES if is_postgres else SQLITE
    values = _values(fragments)
    with unit_of_work(url) as tx:
        for key, value in values.items():
            field(ACCOUNT, tx, key, data_type=value.data_type)
    opened: Any = connect(database_url.url) if is_postgres else file.connect(database_url)
    with closing(opened) as database:
        for sql in fragments.prepare:
            database.execute_sql(sql)
        with _without_indexes(database, is_postgres=is_postgres):
            database.execute_sql("BEGIN")
            for sql in _inserts(fragments, values, count):
                # The driver of PostgreSQL formats the text.
                database.execute_sql(sql.replace("%", "%%") if is_postgres else sql)
            database.execute_sql("COMMIT")
        database.execute_sql("VACUUM ANALYZE" if is_postgres else "PRAGMA wal_checkpoint(truncate)")
    with unit_of_work(url) as tx:
        rebuild_counters(ACCOUNT, tx)


@contextmanager
def _without_indexes(database: Any, *, is_postgres: bool) -> Iterator[None]:
    source = (
        "SELECT indexname, indexdef FROM pg_indexes WHERE indexname NOT LIKE '%%pkey' AND tablename"
        if is_postgres
        else "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND type = 'index'"
        " AND tbl_name"
    )
    tables = "('subscriber', 'subscriber_tag', 'custom_value')"
    found = database.execute_sql(f"{source} IN {tables}", ()).fetchall()
    for name, _ in found:
        database.execute_sql(f"DROP INDEX {name}")
    yield
    for _, sql in found:
        database.execute_sql(sql)


def _inserts(fragments: Fragments, values: dict[str, Value], count: int) -> Iterator[str]:
    numbers, id_ = fragments.numbers(count), fragments.id
    address, part = f"{fragments.spread('n')} || '@' || domain", _choice(3266489917, 1000)
    domain = _choice(2654435761, 1000)
    yield (
        "INSERT INTO subscriber (account_id, id, email, email_key, first_name, last_name, status,"
        " created_at, name_key, last_name_key, revision, confirmed_at, status_changed_at, origin)"
        f" {numbers}, chosen AS (SELECT n, CASE WHEN {domain} < 500 THEN 'example.com'"
        f" WHEN {domain} < 900 THEN 'mail.example' ELSE 'd' || ({domain} % 100) || '.example' END"
        f" AS domain, CASE WHEN {part} < 750 THEN 2 WHEN {part} < 850 THEN 1"
        f" WHEN {part} < 950 THEN 3 WHEN {part} < 990 THEN 4 ELSE 5 END AS status,"
        f" {_choice(2246822519, 100)} AS first, CASE WHEN {_choice(374761393, 20)} < 19"
        f" THEN {_choice(668265263, 1000)} END AS last FROM numbers)"
        f" SELECT '{ACCOUNT}', {id_}, {address}, {address}, 'Ada' || first,"
        " COALESCE('Lovelace' || last, ''), status, 1760000000000 + n,"
        " 'ada' || first || COALESCE(' lovelace' || last, ''), 'lovelace' || last,"
        " 1760000000000000 + n * 1000, CASE status WHEN 2 THEN 1760000000000 + n END,"
        f" CASE WHEN status > 2 THEN 1760000000000 + {_choice(2654435761, 100_000)} END,"
        f" '{'{}':<120}' FROM chosen"
    )
    names = [f"{kind}{number}" for kind, size in TAGS.items() for number in range(size)]
    names[0] = "all"
    tags = [f"('{ACCOUNT}', '{_tag_id(name)}', '{name}', '{name}', '', 1)" for name in names]
    yield (
        "INSERT INTO tag (account_id, id, name, name_key, description, created_at) VALUES "
        + ", ".join(tags)
    )
    multiplier = iter((374761393, 668265263, 2869860233, 3628273133))
    ids = [f"'{_tag_id('all')}'"] + [
        f"substr('T{kind}' || {_choice(next(multiplier), TAGS[kind])} || '{'X' * 26}', 1, 26)"
        for kind in [*TAGS][1:]
    ]
    yield (
        "INSERT INTO subscriber_tag (account_id, subscriber_id, tag_id)"
        f" {numbers} SELECT '{ACCOUNT}', {id_}, {_case(ids)} FROM numbers"
        f" CROSS JOIN {_items(len(ids))}"
    )
    keys = [f"'{key}'" for key in values]
    columns = zip(*(value[1:] for value in values.values()), strict=True)
    yield (
        "INSERT INTO custom_value (account_id, subscriber_id, key, value, text_key, number_key)"
        f" {numbers} SELECT '{ACCOUNT}', {id_}, {_case(keys)},"
        f" {', '.join(_case(each) for each in columns)} FROM numbers"
        f" CROSS JOIN {_items(len(values))}"
    )
    for query in _TOTALS:
        yield f"INSERT INTO statistic (account_id, day, name, total) {query}"


def _values(fragments: Fragments) -> dict[str, Value]:
    """Returns the values of a subscriber by field, in the order of the keys."""

    def text(sql: str) -> Value:
        return Value(DataType.TEXT, f"'\"' || {sql} || '\"'", sql)

    def number(sql: str) -> Value:
        return Value(DataType.NUMBER, f"CAST({sql} AS TEXT)", number_key=sql)

    def boolean(sql: str) -> Value:
        value = f"CASE WHEN {sql} THEN 'true' ELSE 'false' END"
        return Value(DataType.BOOLEAN, value, number_key=f"CASE WHEN {sql} THEN 1 ELSE 0 END")

    def date(day: str) -> Value:
        seconds = f"({_FIRST_DAY} + {day} * {_DAY}) / {_DAY} * {_DAY}"
        shown = fragments.date(seconds)
        return Value(DataType.DATE, f"'\"' || {shown} || '\"'", shown, f"{seconds} * 1000")

    plan = f"CASE {_choice(3628273133, 3)} WHEN 0 THEN 'free' WHEN 1 THEN 'pro' ELSE 'team' END"
    return {
        "born": date(_choice(2246822519, 1000)),
        "city": text(f"'City ' || {_choice(3266489917, 200)}"),
        "code": text(fragments.spread("n")),
        "joined": date(_choice(668265263, 300)),
        "level": number(_choice(374761393, 10)),
        "optin": boolean(f"{_choice(2869860233, 2)} = 1"),
        "plan": text(plan),
        "score": number(_choice(2654435769, 1_000_000)),
        "spent": number(f"({_choice(40503, 100_000)} + 0.5)"),
        "vip": boolean(f"{_choice(2654435769, 100)} < 5"),
    }


def _choice(multiplier: int, choices: int) -> str:
    """Returns an expression for a number below `choices`, evenly distributed over the rows."""
    return f"((n * {multiplier} % 4294967296) / 4096 % {choices})"


def _tag_id(name: str) -> str:
    return f"{f'T{name}':X<26}"


def _case(expressions: Any) -> str:
    whens = " ".join(f"WHEN {index} THEN {sql}" for index, sql in enumerate(expressions))
    return f"CASE i {whens} END"


def _items(count: int) -> str:
    return f"({' UNION ALL '.join(f'SELECT {index} AS i' for index in range(count))}) AS items"
