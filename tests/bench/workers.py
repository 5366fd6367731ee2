"""Two processes on one PostgreSQL, compared with one.

Both services run on the same server, each with its own database. The load comes from several
accounts, because one account has one writer at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret

from ..postgres import Postgres, running
from ..processes import Service, start
from .measurement import Rate, Stats, compared, create_request, load, request, row, send

ACCOUNTS = 8


def stats(folder: Path) -> Iterator[Stats]:
    """Yields the comparisons of two workers with one."""
    with (
        running(on_disk=True) as server,
        _service(server, folder, 1) as one,
        _service(server, folder, 2) as two,
    ):
        keys = {service.http: _keys(service) for service in (one, two)}
        gets = {service.http: _get_requests(service, keys[service.http]) for service in (one, two)}

        def sent(service: Service, requests: list[bytes]) -> Rate:
            return load(service.http, requests, [service.process.pid, server.pid])

        def get_by_id(service: Service) -> Rate:
            return sent(service, gets[service.http])

        def create(service: Service) -> Rate:
            return sent(service, [create_request(key) for key in keys[service.http]])

        yield compared("two_workers_get_by_id", lambda: get_by_id(two), lambda: get_by_id(one))
        yield compared("two_workers_create", lambda: create(two), lambda: create(one))


@contextmanager
def _service(server: Postgres, folder: Path, workers: int) -> Iterator[Service]:
    own = folder / f"{workers}-on-postgres"
    own.mkdir()
    service = start(
        own,
        ROSTER_DATABASE_URL=server.new_database("TEMPLATE template0"),
        ROSTER_SECRET_KEY=server.secret_key,
        ROSTER_PROCESSES=str(workers),
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
            store_keys.create_key(account.id, "bench", "admin", hash_secret(secret), tx)
    return secrets


def _get_requests(service: Service, keys: list[str]) -> list[bytes]:
    """Creates a subscriber in each account, and returns requests for them in turn."""
    requests = []
    for key in keys:
        created = json.loads(send(service.http, "POST", "/api/subscribers", row(), key))
        requests.append(request("GET", f"/api/subscribers/{created['subscriber']['id']}", key))
    return requests
