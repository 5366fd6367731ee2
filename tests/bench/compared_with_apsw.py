"""Rows per second of imports, compared with apsw alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from .measurement import (
    SECONDS,
    Figures,
    Rate,
    compared,
    comparison,
    cpu_seconds,
    in_turns,
    median,
    unique_numbers,
)
from .subjects import Subject, Subjects
from .transfers import IMPORT_ROWS, import_rows


def stats(subjects: Subjects) -> Iterator[Figures]:
    """Yields the rates of imports as NDJSON and as CSV, compared with apsw alone."""
    on_sqlite, on_postgresql = subjects.values()

    def apsw() -> float:
        return apsw_rows_per_second(on_sqlite.service.database)

    def imported(subject: Subject, what: str = "import") -> Rate:
        before = cpu_seconds(subject.processes)
        rate = import_rows(subject.service, IMPORT_ROWS, what)
        spent = cpu_seconds(subject.processes) - before
        return Rate(rate, cpu_seconds=1_000 * spent / IMPORT_ROWS)

    ours, other, theirs = in_turns(
        lambda: imported(on_sqlite), lambda: imported(on_postgresql), apsw
    )
    yield comparison("import", ours, theirs)
    yield median(other).figures("import_on_postgresql")
    yield compared("import_csv", lambda: imported(on_sqlite, "import-csv"), apsw)


def apsw_rows_per_second(database: Path) -> float:
    """Inserts the rows of bulks into a copy of the schema and returns rows per second."""
    copy = database.with_name(f"baseline{next(unique_numbers)}.db")
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection = apsw.Connection(str(copy))
    connection.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = full")
    connection.execute("PRAGMA foreign_keys = on")
    for (sql,) in source.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"):
        if "sqlite_" not in sql:
            connection.execute(sql)
    source.close()
    connection.execute(
        "INSERT INTO tag VALUES (?, ?, 'newsletter', 'newsletter', '', 0)", ("A" * 26, "T" * 26)
    )
    rows, started = 0, time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        _insert_bulk(connection)
        rows += 100
    elapsed = time.perf_counter() - started
    connection.close()
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()
    return rows / elapsed


_COLUMNS = (
    "account_id, id, email, email_key, first_name, last_name, status, created_at, name_key,"
    " last_name_key, email_unicode_key"
)


def _insert_bulk(connection: apsw.Connection) -> None:
    people, links = [], []
    for _ in range(100):
        number = next(unique_numbers)
        person, email = f"01M7Y2MPAQ{number:016}", f"person{number}@example.com"
        names = ("Ada", "Lovelace", 2, 1_700_000_000_000, "ada lovelace", "lovelace", None)
        people.append(("A" * 26, person, email, email, *names))
        links.append(("A" * 26, person, "T" * 26))
    connection.execute("BEGIN IMMEDIATE")
    placeholders = ", ".join("?" * len(people[0]))
    connection.executemany(f"INSERT INTO subscriber ({_COLUMNS}) VALUES ({placeholders})", people)
    connection.executemany("INSERT INTO subscriber_tag VALUES (?, ?, ?)", links)
    connection.execute("COMMIT")
