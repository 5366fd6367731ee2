"""Requests per second, compared with aiohttp alone, which sends the same responses."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..processes import Service
from .measurement import SHORT, Comparison, in_turns, load, program, request, row, send

SUBSCRIBERS = 1_000
MANY = 10_000 if SHORT else 100_000


def stats(service: Service) -> Iterator[Comparison]:
    """Yields the comparisons of key lookups, pages and creations."""
    key = service.first_key
    for _ in range(SUBSCRIBERS // 100):
        rows = {"subscribers": [row() for _ in range(100)]}
        send(service.http, "POST", "/api/subscribers/bulk", rows, key)
    page = send(service.http, "GET", "/api/subscribers", b"", key)
    subscriber = json.loads(page)["subscribers"][7]
    path = f"/api/subscribers/{subscriber['id']}"
    single = send(service.http, "GET", path, b"", key)

    with program("aiohttp_server") as baseline:

        def compare(name: str, path: str, body: bytes) -> Comparison:
            send(baseline, "PUT", "/body", body)
            requests = [request("GET", path, key)] * MANY
            measured = in_turns(
                lambda: load(service.http, requests), lambda: load(baseline, requests)
            )
            return Comparison(name, *measured, unit="requests/s", versus="aiohttp alone")

        yield compare("get_by_id", path, single)
        yield compare("page_of_20", "/api/subscribers", page)

        def creates() -> list[bytes]:
            return [request("POST", "/api/subscribers", key, row()) for _ in range(20_000)]

        send(baseline, "PUT", "/body", single)
        measured = in_turns(
            lambda: load(service.http, creates()), lambda: load(baseline, creates())
        )
        yield Comparison("create", *measured, unit="requests/s", versus="aiohttp alone")
