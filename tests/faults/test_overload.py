"""A service whose database hangs: which calls wait, which are rejected, and with which errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from ..components import status_of, wait_until
from ..conftest import Account, new_account
from ..fronts import HttpFront, health_stub
from ..processes import Service, start

# Timeout of the calls below, in seconds. Once the queue has not moved for as long, they are
# rejected immediately. Before that, they time out without effect.
SECONDS = 0.3
MAX_ATTEMPTS = 10


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = start(tmp_path_factory.mktemp("overload"))
    yield running
    assert running.stop() == 0
    assert running.traces() == []


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


class StalledDatabase:
    """A database that accepts no writes, and writes that wait for it."""

    def __init__(self, account: Account, pool: ThreadPoolExecutor) -> None:
        self._account, self._pool = account, pool
        self.waiting: list[Future[Any]] = []

    def wait(self, name: str) -> None:
        """Starts to create a tag."""
        self.waiting.append(self._pool.submit(self._account.ok, "CreateTag", name=name))


@contextmanager
def stalled_database(account: Account) -> Iterator[StalledDatabase]:
    """Locks the database during a block. Waiting writes are finished after it."""
    with ThreadPoolExecutor(8) as pool:
        stalled = StalledDatabase(account, pool)
        with account.service.unit_of_work():
            # One transaction waits for the lock, and one write waits in the queue behind it.
            stalled.wait("begun")
            stalled.wait("waits")
            yield stalled
        for item in stalled.waiting:
            item.result()


def create_with_timeout(account: Account, front: HttpFront) -> tuple[int, dict[str, str], bytes]:
    """Creates a tag with a short timeout."""
    headers = {"Grpc-Timeout": f"{SECONDS * 1000:.0f}m"}
    return front.exchange(
        "POST", "/api/tags", account.key, body=b'{"name": "late"}', headers=headers
    )


def test_write_that_cannot_finish_in_time_is_rejected_with_retry_after(
    account: Account,
) -> None:
    assert isinstance(account.front, HttpFront)
    with stalled_database(account):
        responses = (create_with_timeout(account, account.front) for _ in range(MAX_ATTEMPTS))
        status, headers, body = next(response for response in responses if response[0] != 504)

        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["error"]["message"].startswith("The server is overloaded.")
        # Reads have their own queue.
        assert account.ok("ListTags")["total"] == 0

    assert {tag["name"] for tag in account.ok("ListTags")["tags"]} == {"begun", "waits"}


def serves(service: Service) -> bool:
    """Whether grpc.health reports SERVING."""
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        reply = health_stub(channel).Check(health_pb2.HealthCheckRequest())
    return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)


def test_service_with_a_stalled_database_is_alive_and_not_ready(account: Account) -> None:
    service = account.service
    assert (status_of(service.http, "/readyz"), serves(service)) == (200, True)

    with stalled_database(account):
        wait_until(lambda: status_of(service.http, "/readyz") == 503, "it is still ready")
        assert not serves(service)
        assert status_of(service.http, "/healthz") == 200

    wait_until(lambda: status_of(service.http, "/readyz") == 200, "it is not ready again")
    assert serves(service)
