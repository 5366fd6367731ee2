"""Requests on SQLite and on PostgreSQL, compared with aiohttp alone, or apsw for bulks.

aiohttp sends the same responses. Both databases and the baseline are measured in turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from .compared_with_apsw import apsw_rows_per_second
from .measurement import (
    LOAD_SECONDS,
    NUMBER,
    SHORT,
    Rate,
    Stats,
    Work,
    bulk_request,
    comparison,
    create_request,
    in_turns,
    load,
    program,
    request,
    send,
    stats_of,
)
from .subjects import Subject, Subjects

PAGE = "/api/subscribers"


def gets(subject: Subject) -> list[bytes]:
    return [request("GET", f"/api/subscribers/{each}", subject.key) for each in subject.ids]


def pages(subject: Subject) -> list[bytes]:
    return [request("GET", PAGE, subject.key)]


def updates(subject: Subject) -> list[bytes]:
    body = {"firstName": f"Ada {NUMBER}"}
    return [request("PUT", f"/api/subscribers/{each}", subject.key, body) for each in subject.ids]


def creates(subject: Subject) -> list[bytes]:
    return [create_request(subject.key)]


def bulks(subject: Subject) -> list[bytes]:
    return [bulk_request(subject.key)]


Requests = Callable[[Subject], list[bytes]]


def stats(subjects: Subjects) -> Iterator[Stats]:
    """Yields the rates of each request on both databases, and ratios to the baselines."""
    on_sqlite = subjects[""]
    single, page = (
        send(on_sqlite.service.http, "GET", path, b"", on_sqlite.key)
        for path in (f"/api/subscribers/{on_sqlite.ids[0]}", PAGE)
    )
    with program("aiohttp_server") as address:

        def aiohttp(requests: Requests, body: bytes) -> Rate:
            send(address, "PUT", "/body", body)
            return load(address, requests(on_sqlite))

        yield from measured("get_by_id", gets, subjects, lambda: aiohttp(gets, single))
        yield from measured("page_of_20", pages, subjects, lambda: aiohttp(pages, page))
        yield from measured("update", updates, subjects)
        yield from measured("create", creates, subjects, lambda: aiohttp(creates, single))


def bulk_stats(subjects: Subjects) -> Iterator[Stats]:
    """Yields the rates of rows in bulks on both databases, and the ratio to apsw alone."""

    def apsw() -> float:
        return apsw_rows_per_second(subjects[""].service.database, 100)

    yield from measured("bulk_of_100", bulks, subjects, apsw, rows=100)


def measured(
    name: str, requests: Requests, subjects: Subjects, *baseline: Work, rows: int = 1
) -> Iterator[Stats]:
    """Measures a request on both databases, and the baseline of SQLite if there is one."""

    def sent(subject: Subject) -> Rate:
        address = subject.service.http
        # All connections wait for one transaction of large requests, so there are few of these.
        seconds = LOAD_SECONDS if rows == 1 or SHORT else 3 * LOAD_SECONDS
        rate = load(address, requests(subject), subject.processes, seconds=seconds)
        return rate.of_rows(rows)

    works = [partial(sent, subject) for subject in subjects.values()]
    on_sqlite, on_postgresql, *compared = in_turns(*works, *baseline)
    if compared:
        yield comparison(name, on_sqlite, compared[0])
    else:
        yield stats_of(name, on_sqlite)
    yield stats_of(f"{name}_on_postgresql", on_postgresql)
