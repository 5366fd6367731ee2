"""Rate limit of an account, over each front."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from roster.v1 import tags_pb2 as pb
from roster.v1.subscribers_pb2 import ExportSubscribersRequest, ExportSubscribersResponse
from rosterd.http_gateway.body import MAX_BODY_BYTES

from ..conftest import Account, new_account
from ..fronts import GrpcFront, HttpFront, health_stub
from ..processes import Service, start

# Each needs a service of its own.
EACH_FRONT = ["grpc", "http", pytest.param("http-over-grpc", marks=pytest.mark.verify)]
# Refills one call in 8 hours: never during a test.
CALLS, SECONDS = 3, 86_400


class LimitedService:
    """A running service with a rate limit, and accounts on it over a front."""

    def __init__(self, service: Service, front: str) -> None:
        self.service = service
        self.front = GrpcFront(service.grpc) if front == "grpc" else HttpFront(front, service.http)

    def account(self, *, verified: bool = True) -> Account:
        """Returns an account that has made no call yet."""
        return new_account(self.service, self.front, verified=verified)

    def exhausted_account(self, *, verified: bool = True) -> Account:
        """Returns an account that has made all of its calls."""
        account = self.account(verified=verified)
        for _ in range(CALLS):
            account.ok("ListTags")
        return account


def limited(
    request: pytest.FixtureRequest, tmp_path_factory: Any, rate: str
) -> Iterator[LimitedService]:
    channel = "grpc" if request.param == "http-over-grpc" else "in-process"
    folder = tmp_path_factory.mktemp("limited")
    service = start(folder, ROSTER_RATE_LIMIT=rate, ROSTER_HTTP_CHANNEL=channel)
    running = LimitedService(service, request.param)
    yield running
    if isinstance(running.front, GrpcFront):
        running.front.channel.close()
    assert service.stop() == 0


@pytest.fixture(scope="module", params=EACH_FRONT)
def slow_refill(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[LimitedService]:
    yield from limited(request, tmp_path_factory, f"{CALLS}/{SECONDS}")


def list_tags(account: Account) -> tuple[bool, dict[str, str]]:
    """Lists tags. Returns whether that was allowed, and the headers or trailing metadata."""
    if isinstance(account.front, HttpFront):
        status, headers, _ = account.front.exchange("GET", "/api/tags", account.key)
        assert status in {200, 429}
        return status == 200, headers
    metadata = [("authorization", f"Bearer {account.key}")]
    stub = account.front.stub("ListTags")  # type: ignore[attr-defined]
    try:
        _, call = stub.with_call(pb.ListTagsRequest(), metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        call = error
    assert call.code() in {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
    return call.code() is grpc.StatusCode.OK, dict(call.trailing_metadata())


def export(account: Account, *, head: bool = False) -> tuple[bool, dict[str, Any]]:
    """Exports. Returns whether that was allowed, and the headers or metadata."""
    path = "/api/subscribers/export"
    if isinstance(account.front, HttpFront):
        method = "HEAD" if head else "GET"
        status, headers, _ = account.front.exchange(method, path, account.key)
        return status == 200, headers
    assert isinstance(account.front, GrpcFront)
    call = account.front.channel.unary_stream(
        "/roster.v1.SubscriberService/ExportSubscribers",
        request_serializer=ExportSubscribersRequest.SerializeToString,
        response_deserializer=ExportSubscribersResponse.FromString,
    )(ExportSubscribersRequest(), metadata=[("authorization", f"Bearer {account.key}")], timeout=20)
    first = dict(call.initial_metadata())
    allowed = call.code() is grpc.StatusCode.OK
    return allowed, first if allowed else dict(call.trailing_metadata())


def parameter(value: str, name: str) -> int:
    """Returns a parameter of the only item of a structured field (RFC 9651)."""
    item, *parameters = value.split(";")
    assert item == '"default"'
    return int(dict(element.split("=") for element in parameters)[name])


def test_every_call_counts_and_reports_the_remaining_calls(slow_refill: LimitedService) -> None:
    account = slow_refill.account()

    calls = [list_tags(account) for _ in range(CALLS + 1)]

    assert [allowed for allowed, _ in calls] == [True] * CALLS + [False]
    assert [parameter(headers["ratelimit"], "r") for _, headers in calls] == [2, 1, 0, 0]
    assert {headers["ratelimit-policy"] for _, headers in calls} == {
        f'"default";q={CALLS};w={SECONDS}'
    }
    assert ["retry-after" in headers for _, headers in calls] == [False] * CALLS + [True]
    error_response = calls[-1][1]
    waits = int(error_response["retry-after"]), parameter(error_response["ratelimit"], "t")
    assert 0 < waits[0] == waits[1] <= SECONDS // CALLS


def test_stream_reports_the_remaining_calls_before_its_records(slow_refill: LimitedService) -> None:
    account = slow_refill.account()

    calls = [export(account, head=number == 1) for number in range(CALLS + 1)]

    assert [allowed for allowed, _ in calls] == [True] * CALLS + [False]
    assert [parameter(headers["ratelimit"], "r") for _, headers in calls] == [2, 1, 0, 0]
    assert {headers["ratelimit-policy"] for _, headers in calls} == {
        f'"default";q={CALLS};w={SECONDS}'
    }


def test_failed_call_counts(slow_refill: LimitedService) -> None:
    account = slow_refill.account()
    for _ in range(CALLS):
        account.fails("ValidationError", "CreateTag", name="")

    account.fails("RateLimited", "CreateTag", name="vip")


def test_all_keys_of_an_account_share_one_bucket(slow_refill: LimitedService) -> None:
    account = slow_refill.exhausted_account()

    account.with_key(account.new_key("read")).fails("RateLimited", "ListTags")


def test_all_fronts_of_a_service_share_one_bucket(slow_refill: LimitedService) -> None:
    account = slow_refill.exhausted_account()
    other = HttpFront("http", slow_refill.service.http)

    assert other.send("GET", "/api/tags", account.key).code == "RateLimited"


def test_sign_ups_do_not_use_up_the_limit_of_their_account(slow_refill: LimitedService) -> None:
    account = slow_refill.account()
    page = account.with_key(account.new_key("signup"))
    for number in range(CALLS):
        page.ok("SignUp", email=f"{number}@example.com")

    account.ok("ListTags")


def test_invalid_key_is_rejected_before_the_limit_and_not_counted(
    slow_refill: LimitedService,
) -> None:
    account = slow_refill.exhausted_account()

    account.with_key("rk_x").fails("Unauthorized", "ListTags")
    _, headers = list_tags(account)

    assert headers["ratelimit-policy"]
    assert not receives_the_limit(account.with_key("rk_x"))


def receives_the_limit(account: Account) -> bool:
    """Whether the response to a call with an invalid key contains rate limit headers."""
    if isinstance(account.front, HttpFront):
        _, headers, _ = account.front.exchange("GET", "/api/tags", account.key)
        return "ratelimit" in headers
    stub = account.front.stub("ListTags")  # type: ignore[attr-defined]
    with pytest.raises(grpc.RpcError) as caught:
        stub(pb.ListTagsRequest(), metadata=[("x-api-key", account.key)], timeout=20)
    return "ratelimit" in dict(caught.value.trailing_metadata())


@pytest.mark.parametrize("slow_refill", EACH_FRONT[1:], indirect=True)
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b" " * (MAX_BODY_BYTES + 1), {}),
        (b"{}", {"Content-Type": "text/plain"}),
        (b"{", {}),
    ],
    ids=["too large", "no JSON type", "no JSON"],
)
def test_limit_is_checked_before_the_body(
    slow_refill: LimitedService, body: bytes, headers: dict[str, str]
) -> None:
    account = slow_refill.exhausted_account()
    assert isinstance(slow_refill.front, HttpFront)

    status, headers, _ = slow_refill.front.exchange(
        "POST", "/api/tags", account.key, body=body, headers=headers
    )

    assert status == 429
    assert int(headers["retry-after"]) > 0


def test_health_has_no_limit(slow_refill: LimitedService) -> None:
    with grpc.insecure_channel(slow_refill.service.grpc) as channel:
        health = health_stub(channel)
        for _ in range(2 * CALLS):
            reply = health.Check(health_pb2.HealthCheckRequest(), timeout=20)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
    front = HttpFront("http", slow_refill.service.http)
    assert {front.send("GET", "/readyz").status for _ in range(2 * CALLS)} == {200}


def test_service_without_a_limit_sends_no_rate_limit_headers(account: Account) -> None:
    allowed, headers = list_tags(account)

    assert allowed
    assert not {"ratelimit", "ratelimit-policy", "retry-after"} & headers.keys()
