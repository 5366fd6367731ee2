"""A service whose database hangs: which calls wait, which are rejected, and with which errors."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from roster.v1 import tags_pb2 as pb
from roster.v1 import tags_pb2_grpc

from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..parts import status_of, wait_until
from ..processes import Service, start

# How much time a call has that could not be answered: as soon as the queue has stood still for
# as long, it is refused at once. Until then its time passes, without effect.
SECONDS = 0.3
TRIES = 10


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    running = start(tmp_path_factory.mktemp("overload"))
    yield running
    assert running.stop() == 0
    assert running.traces() == []


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


class Still:
    """A database that takes no writes, and writes that wait for it."""

    def __init__(self, account: Account, pool: ThreadPoolExecutor) -> None:
        self._account, self._pool = account, pool
        self.waiting: list[Future[Any]] = []

    def wait(self, name: str) -> None:
        """Begins to create a tag."""
        self.waiting.append(self._pool.submit(self._account.ok, "CreateTag", name=name))


@contextmanager
def standing_still(account: Account) -> Iterator[Still]:
    """Keeps the database locked for the length of a block; what waits for it is done after it."""
    with ThreadPoolExecutor(8) as pool:
        still = Still(account, pool)
        with account.service.unit_of_work():
            # One is being begun for as long as the lock is there, and one waits behind it.
            still.wait("begun")
            still.wait("waits")
            yield still
        for each in still.waiting:
            each.result()


def late(account: Account, front: HttpFront) -> tuple[int, dict[str, str], bytes]:
    """Asks for a tag with little time."""
    headers = {"Grpc-Timeout": f"{SECONDS * 1000:.0f}m"}
    return front.exchange(
        "POST", "/api/tags", account.key, body=b'{"name": "late"}', headers=headers
    )


def test_write_that_cannot_finish_in_time_is_rejected_with_retry_after(
    account: Account,
) -> None:
    assert isinstance(account.front, HttpFront)
    with standing_still(account):
        answers = (late(account, account.front) for _ in range(TRIES))
        status, headers, body = next(answer for answer in answers if answer[0] != 504)

        assert (status, headers["retry-after"]) == (503, "1")
        assert json.loads(body)["error"]["message"].startswith("The server is overloaded.")
        # Reads have a queue of their own.
        assert account.ok("ListTags")["total"] == 0

    assert {tag["name"] for tag in account.ok("ListTags")["tags"]} == {"begun", "waits"}


def test_refusal_over_grpc_says_in_milliseconds_when_to_try_again(account: Account) -> None:
    metadata = [("authorization", f"Bearer {account.key}")]
    with standing_still(account), closing(grpc.insecure_channel(account.service.grpc)) as channel:
        stub = tags_pb2_grpc.TagServiceStub(channel)
        stub.ListTags(pb.ListTagsRequest(), metadata=metadata, timeout=20)
        request = pb.CreateTagRequest(name="late")
        calls: Any = (
            stub.CreateTag.future(request, metadata=metadata, timeout=SECONDS) for _ in range(TRIES)
        )
        error = next(each for each in calls if each.code() is grpc.StatusCode.UNAVAILABLE)

    trailers = dict(error.trailing_metadata())
    pushback = int(trailers["grpc-retry-pushback-ms"])
    assert pushback >= SECONDS * 1000 * 0.5
    info = error_details_pb2.RetryInfo()
    status = rpc_status.from_call(error)
    assert status is not None
    (packed,) = [each for each in status.details if each.Is(info.DESCRIPTOR)]
    packed.Unpack(info)
    assert info.retry_delay.ToMilliseconds() == pushback


def test_write_whose_client_went_away_before_it_was_begun_is_not_done(account: Account) -> None:
    with standing_still(account):
        left = http.client.HTTPConnection(account.service.http, timeout=20)
        headers = {"Authorization": f"Bearer {account.key}", "Content-Type": "application/json"}
        left.request("POST", "/api/tags", '{"name": "left"}', headers)
        account.ok("ListTags")
        left.close()
        # What comes after that is answered after that was seen.
        account.ok("ListTags")
        account.ok("ListTags")

    assert {tag["name"] for tag in account.ok("ListTags")["tags"]} == {"begun", "waits"}


def serves(service: Service) -> bool:
    """Whether grpc.health says that calls are served."""
    with closing(grpc.insecure_channel(service.grpc)) as channel:
        reply = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)


def test_service_whose_database_takes_no_writes_is_alive_and_not_ready(account: Account) -> None:
    service = account.service
    assert (status_of(service.http, "/readyz"), serves(service)) == (200, True)

    with standing_still(account):
        wait_until(lambda: status_of(service.http, "/readyz") == 503, "it is still ready")
        assert not serves(service)
        assert status_of(service.http, "/healthz") == 200

    wait_until(lambda: status_of(service.http, "/readyz") == 200, "it is not ready again")
    assert serves(service)
