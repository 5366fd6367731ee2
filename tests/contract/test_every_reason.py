"""Every error reason is returned in a test: by the recorded examples, here, or in another file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2

from roster.v1 import errors_pb2
from rosterd.http_gateway.request_errors import error_code_of
from rosterd.server.features.accounts.rules import make_secret

from ..cases import each
from ..conftest import Account, new_account
from ..fronts import Front, GrpcFront, HttpFront, Response, error_response, health_stub
from ..processes import Service, start
from .error_examples import operations, status_of, triggers

TESTS = Path(__file__).parents[1]
# The files whose tests return the reasons that no recorded example does, relative to `tests`.
RETURNED_IN = {
    "CPU_SHARE_EXCEEDED": "rpc/interceptors/test_fair_share.py",
    "CUSTOM_FIELD_BEING_DELETED": "storage/test_deleted.py",
    "DEADLINE_EXCEEDED": "faults/test_deadlines.py",
    "EXPORT_NOT_READY": "behavior/test_exports.py",
    "FIELD_NOT_IMPLEMENTED": "faults/test_grpc.py",
    "IDEMPOTENCY_KEY_IN_USE": "faults/test_idempotency.py",
    "IMPORT_LIMIT_REACHED": "behavior/test_import_jobs.py",
    "INSUFFICIENT_STORAGE": "faults/test_import_jobs_on_full_disk.py",
    "INTERNAL": "faults/test_grpc.py",
    "METHOD_NOT_ALLOWED": "faults/test_http.py",
    "METHOD_NOT_IMPLEMENTED": "faults/test_grpc.py",
    "OPERATION_LIMIT_REACHED": "storage/test_operations.py",
    "OPERATION_NOT_ENDED": "behavior/test_undo.py",
    "RANGE_NOT_SATISFIABLE": "behavior/test_exports.py",
    "REQUEST_TIMEOUT": "faults/test_slow_clients.py",
    "RESPONSE_NOT_READ": "http_gateway/streams/test_disconnects.py",
    "ROUTE_NOT_FOUND": "behavior/test_every_rpc.py",
    "SEGMENT_LIMIT_REACHED": "behavior/test_segments.py",
    "SIGN_IN_LINK_LIMIT_REACHED": "behavior/test_sessions.py",
    "STREAM_LIMIT_REACHED": "behavior/test_webhook_tail.py",
    "TEST_DELIVERY_LIMIT_REACHED": "behavior/test_webhooks.py",
    "TOO_MANY_INVALID_LINKS": "faults/test_links.py",
    "UNAVAILABLE": "faults/test_killed_processes.py",
    "UNDO_EXPIRED": "behavior/test_undo.py",
}
# No test has a server without HTTP and ROSTER_PUBLIC_URL.
NOT_RETURNED = {"PUBLIC_URL_NOT_SET"}


def call_with_unknown_key(account: Account) -> Response:
    return account.with_key(make_secret()).call("ListTags")


def sign_up(account: Account) -> Response:
    return account.with_key(account.new_key("signup")).call("SignUp", email="ada@example.com")


# Of the limits of a service for an account or address, in this order.
LIMITED = {
    "TOO_MANY_SIGNUPS": sign_up,
    "RATE_LIMITED": lambda account: account.call("ListTags"),
    "TOO_MANY_INVALID_KEYS": call_with_unknown_key,
}


def test_every_reason_is_returned_in_a_test() -> None:
    triggered = {
        reason
        for operation in operations()
        for reason in operation.reasons
        if triggers(operation.rpc, reason)
    }
    reasons = set(errors_pb2.Error.Reason.keys()) - {"REASON_UNSPECIFIED"}

    others = {*RETURNED_IN, *LIMITED, *NOT_RETURNED, "SERVICE_NOT_FOUND"}

    assert others == reasons - triggered
    for reason, file in RETURNED_IN.items():
        text = (TESTS / file).read_text()
        assert any(name in text for name in (error_code_of(reason), reason)), reason


@pytest.mark.parametrize("front_and_service", ["grpc"], indirect=True)
def test_unknown_service_is_not_found(account: Account) -> None:
    assert isinstance(account.front, GrpcFront)
    with pytest.raises(grpc.RpcError) as failed:
        health_stub(account.front.channel).Check(health_pb2.HealthCheckRequest(service="nothing"))

    response = error_response(failed.value)
    assert (response.status, response.code) == (404, "ServiceNotFound")


@pytest.fixture
def limited_account(front_and_service: tuple[Front, Service], tmp_path: Path) -> Iterator[Account]:
    """An account on a service of its own, with low limits."""
    name = front_and_service[0].name
    service = start(
        tmp_path,
        ROSTER_HTTP_CHANNEL="grpc" if name == "http-over-grpc" else "in-process",
        ROSTER_RATE_LIMIT="20/600",
        ROSTER_SIGNUP_RATE_LIMIT="2/600",
    )
    front: Front = GrpcFront(service.grpc) if name == "grpc" else HttpFront(name, service.http)
    yield new_account(service, front)
    if isinstance(front, GrpcFront):
        front.channel.close()
    assert service.stop() == 0


@each(("reason", "call"), LIMITED.items())
def test_repeated_call_fails_with_the_reason_of_its_limit(
    limited_account: Account, reason: str, call: Callable[[Account], Response]
) -> None:
    responses = (call(limited_account) for _ in range(1_000))

    rejected = next(each for each in responses if each.status == status_of(reason))

    assert rejected.code == error_code_of(reason)
