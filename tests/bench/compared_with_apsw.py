"""Rows per second of imports, compared with apsw alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import apsw

from server.ids import ids_at
from server.subscribers.fields import Status

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

# The ID, the email address, the status and the time of creation of a subscriber.
Person = tuple[str, str, int, int]
_SECONDS_OF_DAY = 86_400
# 2024-01-31, in milliseconds since 1970.
_DAY_OF_FILE = 1_706_659_200_000


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

    def apsw_with_rows_of_file() -> float:
        return apsw_rows_per_second(on_sqlite.service.database, person_of_file)

    ours, other, theirs = in_turns(
        lambda: imported(on_sqlite), lambda: imported(on_postgresql), apsw
    )
    yield comparison("import", ours, theirs)
    yield median(other).figures("import_on_postgresql")
    yield compared("import_csv", lambda: imported(on_sqlite, "import-csv"), apsw_with_rows_of_file)


def new_person(number: int) -> Person:
    """Returns a row like those of bulks and of NDJSON files, with an ascending ID."""
    email = f"person{number}@example.com"
    return f"01M7Y2MPAQ{number:016}", email, Status.CONFIRMED.value, 1_700_000_000_000


def person_of_file(number: int) -> Person:
    """Returns a row as an import of `streams.csv_rows` stores it.

    The file states no times of confirmations and cancellations, so they are null.
    """
    second = number % _SECONDS_OF_DAY
    status = Status.CONFIRMED.value if number % 7 else Status.UNSUBSCRIBED.value
    subscriber_id, created_at = f"{_timestamps()[second]}{number:016}", _DAY_OF_FILE + 1000 * second
    return subscriber_id, f"csv{number}@example.com", status, created_at


@cache
def _timestamps() -> list[str]:
    """Returns the part of an ID that depends on its time, for each second of the day."""
    times = [_DAY_OF_FILE + 1000 * second for second in range(_SECONDS_OF_DAY)]
    return [subscriber_id[:10] for subscriber_id in ids_at(times, 0)]


def apsw_rows_per_second(database: Path, person: Callable[[int], Person] = new_person) -> float:
    """Inserts numbered rows into a copy of the schema and returns rows per second."""
    person(0)  # What it caches takes no measured time.
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
        _insert_bulk(connection, person)
        rows += 100
    elapsed = time.perf_counter() - started
    connection.close()
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()
    return rows / elapsed


_COLUMNS = (
    "account_id, id, email, status, created_at, email_key, first_name, last_name, name_key,"
    " last_name_key, email_unicode_key"
)


def _insert_bulk(connection: apsw.Connection, person: Callable[[int], Person]) -> None:
    people, links = [], []
    for _ in range(100):
        row = person(next(unique_numbers))
        names = ("Ada", "Lovelace", "ada lovelace", "lovelace", None)
        people.append(("A" * 26, *row, row[1], *names))
        links.append(("A" * 26, row[0], "T" * 26))
    connection.execute("BEGIN IMMEDIATE")
    placeholders = ", ".join("?" * len(people[0]))
    connection.executemany(f"INSERT INTO subscriber ({_COLUMNS}) VALUES ({placeholders})", people)
    connection.executemany("INSERT INTO subscriber_tag VALUES (?, ?, ?)", links)
    connection.execute("COMMIT")
