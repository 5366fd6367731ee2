"""Requests per second, compared with bare aiohttp that sends the same responses."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..processes import Service
from .measuring import SHORT, Comparison, in_turns, load, program, request, row, send

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

    with program("bare") as bare:

        def compare(name: str, path: str, body: bytes) -> Comparison:
            send(bare, "PUT", "/body", body)
            requests = [request("GET", path, key)] * MANY
            measured = in_turns(lambda: load(service.http, requests), lambda: load(bare, requests))
            return Comparison(name, *measured, unit="requests/s", other="bare aiohttp")

        yield compare("get_by_id", path, single)
        yield compare("page_of_20", "/api/subscribers", page)

        def creates() -> list[bytes]:
            return [request("POST", "/api/subscribers", key, row()) for _ in range(20_000)]

        send(bare, "PUT", "/body", single)
        measured = in_turns(lambda: load(service.http, creates()), lambda: load(bare, creates()))
        yield Comparison("create", *measured, unit="requests/s", other="bare aiohttp")
