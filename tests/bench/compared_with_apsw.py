"""Rows per second of imports, compared with apsw alone.

The baseline inserts the same rows into a copy of the database of the service, because inserts
become slower as a table grows: addresses and IDs of stated times belong between those that are
stored. It fills the same columns and indexes, with the same PRAGMAs and as many rows in each
transaction. It builds the rows from numbers; it does not read, validate, count or return them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import apsw

from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.history import Source, origin
from rosterd.server.features.subscribers.row_writer import MAX_ROWS
from rosterd.server.storage.sqlite.file import PRAGMAS
from rosterd.server.values.actors import Actor, ActorType
from rosterd.server.values.clock import system_clock
from rosterd.server.values.ids import first_id_at, ids_at

from .measurement import (
    Rate,
    Stats,
    compared,
    comparison,
    cpu_seconds,
    in_turns,
    stats_of,
    unique_numbers,
)
from .subjects import Subject, Subjects
from .transfers import IMPORT_ROWS, first_number, import_rows

# The ID, the email address, the status and the time of creation of a subscriber.
Person = tuple[str, str, int, int]
# Returns the person with a number, who may be created at the current time.
NewPerson = Callable[[int, int], Person]
_SECONDS_OF_DAY = 86_400
# 2024-01-31, in milliseconds since 1970.
_DAY_OF_FILE = 1_706_659_200_000


def stats(subjects: Subjects) -> Iterator[Stats]:
    """Yields the rates of imports as NDJSON and as CSV, compared with apsw alone."""
    on_sqlite, on_postgresql = subjects.values()

    def imported(subject: Subject, what: str = "import") -> Rate:
        before = cpu_seconds(subject.processes)
        rate = import_rows(subject.service, IMPORT_ROWS, what)
        spent = cpu_seconds(subject.processes) - before
        return Rate(rate, cpu_seconds=1_000 * spent / IMPORT_ROWS)

    def inserted(person: NewPerson) -> float:
        return apsw_rows_per_second(on_sqlite.service.database, MAX_ROWS, person)

    ours, other, theirs = in_turns(
        lambda: imported(on_sqlite), lambda: imported(on_postgresql), lambda: inserted(new_person)
    )
    yield comparison("import", ours, theirs)
    yield stats_of("import_on_postgresql", other)
    yield compared(
        "import_csv",
        lambda: imported(on_sqlite, "import-csv"),
        lambda: inserted(person_of_file),
    )


def new_person(number: int, now: int) -> Person:
    """Returns a row like those of bulks and of NDJSON files, with an ascending ID."""
    email = f"imported{number}@example.com"
    return f"{_start_of_id(now)}{number:016}", email, Status.CONFIRMED.value, now


def person_of_file(number: int, _now: int) -> Person:
    """Returns a row as an import of `streams.csv_rows` stores it.

    The file states no times of confirmations and cancellations, so they are null.
    """
    second = number % _SECONDS_OF_DAY
    status = Status.CONFIRMED.value if number % 7 else Status.UNSUBSCRIBED.value
    subscriber_id, created_at = f"{_timestamps()[second]}{number:016}", _DAY_OF_FILE + 1000 * second
    return subscriber_id, f"csv{number}@example.com", status, created_at


@cache
def _start_of_id(milliseconds: int) -> str:
    """Returns the part of an ID that depends on its time."""
    return first_id_at(milliseconds)[:10]


@cache
def _timestamps() -> list[str]:
    """Returns the part of an ID that depends on its time, for each second of the day."""
    times = [_DAY_OF_FILE + 1000 * second for second in range(_SECONDS_OF_DAY)]
    return [subscriber_id[:10] for subscriber_id in ids_at(times, 0)]


def apsw_rows_per_second(
    database: Path, rows_per_transaction: int, person: NewPerson = new_person
) -> float:
    """Inserts rows into a copy of the database of a service, and returns rows per second."""
    person(0, 0)  # What it caches takes no measured time.
    copy = database.with_name(f"baseline{next(unique_numbers)}.db")
    connection = _copied(database, copy)
    account_id, tag_id = connection.execute(
        "SELECT account_id, id FROM tag WHERE name_key = 'newsletter'"
    ).fetchone()
    revision, first = connection.execute("SELECT MAX(revision) FROM subscriber").get, first_number()
    started = time.perf_counter()
    for start in range(first, first + IMPORT_ROWS, rows_per_transaction):
        now = system_clock()
        revision = max(revision + 1, now * 1_000)
        people = [person(number, now) for number in range(start, start + rows_per_transaction)]
        _insert(connection, account_id, tag_id, people, revision)
    elapsed = time.perf_counter() - started
    connection.close()
    for file in copy.parent.glob(f"{copy.name}*"):
        file.unlink()
    return IMPORT_ROWS / elapsed


def _copied(database: Path, copy: Path) -> apsw.Connection:
    """Copies a database page by page, synced to disk, and opens it as the service does."""
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection = apsw.Connection(str(copy))
    with connection.backup("main", source, "main") as backup:
        backup.step()
    source.close()
    for name, value in ("journal_mode", "wal"), *PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")
    return connection


_COLUMNS = (
    "account_id, id, email, status, created_at, email_key, first_name, last_name, name_key,"
    " last_name_key, revision, origin"
)


def _insert(
    connection: apsw.Connection,
    account_id: str,
    tag_id: str,
    people: Sequence[Person],
    revision: int,
) -> None:
    # Any ID has the length of that of an API key.
    by = Actor(ActorType.API_KEY, tag_id)
    at = revision // 1_000
    origins = {status.value: origin(status, at, Source.IMPORT, by) for status in Status}
    rows, links = [], []
    for each in people:
        subscriber_id, email, status, _ = each
        names = ("Ada", "Lovelace", "ada lovelace", "lovelace")
        rows.append((account_id, *each, email, *names, revision, origins[status]))
        links.append((account_id, subscriber_id, tag_id))
    connection.execute("BEGIN IMMEDIATE")
    placeholders = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO subscriber ({_COLUMNS}) VALUES ({placeholders})", rows)
    connection.executemany("INSERT INTO subscriber_tag VALUES (?, ?, ?)", links)
    connection.execute("COMMIT")
