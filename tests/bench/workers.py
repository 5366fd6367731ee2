"""Two processes on one PostgreSQL, compared with one.

Both services run on the same server, each with its own database. The load comes from several
accounts, because one account has one writer at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from uuid import uuid4

from server.accounts import store
from server.accounts.rules import hash_secret, make_secret

from ..postgres import Postgres, running
from ..processes import Service, start
from .measurement import Comparison, in_turns, load, request, row, send

ACCOUNTS = 8
MANY = 50_000


def stats(folder: Path) -> Iterator[Comparison]:
    """Yields the comparisons of two workers with one."""
    with (
        running() as server,
        _service(server, folder, 1) as one,
        _service(server, folder, 2) as two,
    ):
        keys = {service.http: _keys(service) for service in (one, two)}
        looked_up = {
            service.http: _get_requests(service, keys[service.http]) for service in (one, two)
        }

        def get_by_id(service: Service) -> float:
            return load(service.http, looked_up[service.http])

        def create(service: Service) -> float:
            own = islice(cycle(keys[service.http]), 20_000)
            return load(
                service.http, [request("POST", "/api/subscribers", key, row()) for key in own]
            )

        for name, work in (("two_workers_get_by_id", get_by_id), ("two_workers_create", create)):
            measured = in_turns(lambda: work(two), lambda: work(one))  # noqa: B023 - called at once
            yield Comparison(name, *measured, unit="requests/s", versus="one worker")


@contextmanager
def _service(server: Postgres, folder: Path, workers: int) -> Iterator[Service]:
    own = folder / f"{workers}-on-postgres"
    own.mkdir()
    service = start(
        own,
        ROSTER_DATABASE_URL=server.new_database("TEMPLATE template0"),
        ROSTER_SECRET_KEY=server.secret_key,
        ROSTER_WORKERS=str(workers),
    )
    try:
        yield service
    finally:
        service.stop()


def _keys(service: Service) -> list[str]:
    """Creates accounts and returns an API key of each."""
    secrets = [make_secret() for _ in range(ACCOUNTS)]
    with service.unit_of_work() as tx:
        for secret in secrets:
            account = store.create_account(f"{uuid4().hex}@example.com", tx, verified=True)
            store.create_key(account.id, "bench", "admin", hash_secret(secret), tx)
    return secrets


def _get_requests(service: Service, keys: list[str]) -> list[bytes]:
    """Creates a subscriber in each account, and returns requests for them in turn."""
    requests = []
    for key in keys:
        created = json.loads(send(service.http, "POST", "/api/subscribers", row(), key))
        requests.append(request("GET", f"/api/subscribers/{created['subscriber']['id']}", key))
    return list(islice(cycle(requests), MANY))
