"""Every error reason is provoked over every front, or named with why a call cannot provoke it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import grpc
import pytest
from grpc_health.v1 import health_pb2
from peewee import SQL

from roster.v1 import errors_pb2
from rosterd.http_gateway.body import MAX_BODY_BYTES
from rosterd.http_gateway.request_errors import error_code_of
from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.features.imports.jobs.rules import MAX_OPEN
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import MAX_RUNNING, UNDO_MILLISECONDS
from rosterd.server.features.segments import store as segments
from rosterd.server.features.sessions.rules import MAX_LINKS
from rosterd.server.features.subscribers.query.syntax import parse
from rosterd.server.features.webhooks.delivery.store_replays import MAX_DUE
from rosterd.server.features.webhooks.rules import MAX_IN_FLIGHT_PER_ENDPOINT
from rosterd.server.rpc.interceptors.concurrency_limit import MAX_STREAMS_OF_ACCOUNT
from rosterd.server.serving.gateway_policy import reasons_of
from rosterd.server.storage.statements import Statement
from rosterd.server.values.clock import system_clock
from rosterd.server.values.texts import DELETED_KEY

from ..behavior.deliveries import TAIL, create_webhook, running_operations, tail, tail_call
from ..behavior.helpers import MISSING_ID, create_field, over_http
from ..behavior.requests import REFERENCES, REQUESTS
from ..behavior.test_operations import run
from ..cases import each
from ..components import wait_until
from ..conftest import Account, new_account
from ..faults.test_idempotency import call_with_key
from ..features.webhooks.receiver import Reply, listening
from ..fronts import (
    UNARY,
    Front,
    GrpcFront,
    HttpFront,
    Response,
    error_response,
    health_stub,
)
from ..processes import Service, start
from .error_examples import CONFLICTS, FORM

REASONS = set(errors_pb2.Error.Reason.keys()) - {"REASON_UNSPECIFIED"}
# Reasons that a call alone cannot provoke, with their causes.
NOT_PROVOKED = {
    "CPU_SHARE_EXCEEDED": "other accounts call at the same time",
    "DEADLINE_EXCEEDED": "the server is so busy that the call waits longer than its deadline",
    "EXPORT_NOT_READY": "a stream of bytes fails, see test_exports.py",
    "INSUFFICIENT_STORAGE": "the disk is full",
    "INTERNAL": "the server or its database fails",
    "PUBLIC_URL_NOT_SET": "the server serves no HTTP, and ROSTER_PUBLIC_URL is not set",
    "RANGE_NOT_SATISFIABLE": "a stream of bytes fails, see test_exports.py",
    "REQUEST_TIMEOUT": "the client stops sending its request for many seconds",
    "RESPONSE_NOT_READ": "the client does not read the response for many seconds",
    "UNAVAILABLE": "the server stops, is overloaded, or has no database",
}
# The error of a call, or its code.
Provoked = Response | str
Provoke = Callable[[Account], Provoked]
Call = Callable[[Account], Response]


def call(rpc: str, **request: Any) -> Call:
    return lambda account: account.call(rpc, **request)


def call_with_unknown_key(account: Account) -> Response:
    return account.with_key(make_secret()).call("ListTags")


def provoke_conflict(reason: str, account: Account) -> Response:
    rpc = next(rpc for rpc, method in UNARY.items() if reason in reasons_of(method))
    response: Response = CONFLICTS[reason](account, rpc)
    return response


def provoke_not_found(reason: str, account: Account) -> Response:
    """Calls an rpc that refers to one resource, which does not exist."""
    rpc = next(
        rpc
        for rpc in REFERENCES
        if [each for each in reasons_of(UNARY[rpc]) if each.endswith("_NOT_FOUND")] == [reason]
    )
    return account.call(rpc, **{REFERENCES[rpc]: MISSING_ID}, **REQUESTS.get(rpc, {}))


def with_scope(scope: str, rpc: str, **request: Any) -> Call:
    return lambda account: account.with_key(account.new_key(scope)).call(rpc, **request)


def provoke_email_not_verified(account: Account) -> Response:
    unverified = new_account(account.service, account.front, verified=False)
    return unverified.call("CreateCustomField", label="Plan")


def provoke_key_reused(account: Account) -> str:
    call_with_key(account, "CreateTag", "key", {"name": "vip"})
    return call_with_key(account, "CreateTag", "key", {"name": "other"}).error


def provoke_response_erased(account: Account) -> str:
    person = {"email": "ada@example.com"}
    call_with_key(account, "CreateSubscriber", "key", person)
    account.ok("DeleteSubscriber", id=person["email"], erase=True)
    return call_with_key(account, "CreateSubscriber", "key", person).error


def provoke_key_in_use(account: Account) -> str:
    """Tests a webhook whose endpoint repeats the call while it runs."""
    codes: list[str] = []
    with listening() as receiver:
        test = {"id": create_webhook(account, receiver.url)["id"]}

        def repeat() -> None:
            codes.append(call_with_key(account, "TestWebhook", "key", test).error)

        receiver.replies = [Reply(before=repeat)]
        call_with_key(account, "TestWebhook", "key", test)
    return codes[0]


def provoke_test_limit(account: Account) -> Response:
    """Tests a webhook whose endpoint starts the next test before it responds."""
    responses: list[Response] = []
    with listening() as receiver:
        webhook = create_webhook(account, receiver.url)

        def run_test() -> None:
            responses.append(account.call("TestWebhook", id=webhook["id"]))

        receiver.replies = [Reply(before=run_test)] * MAX_IN_FLIGHT_PER_ENDPOINT
        run_test()
    return responses[0]


def provoke_stream_limit(account: Account, running: int = MAX_STREAMS_OF_ACCOUNT) -> Response:
    if running:
        with tail(account):
            return provoke_stream_limit(account, running - 1)
    if isinstance(account.front, HttpFront):
        return account.front.send("GET", TAIL, account.key)
    with pytest.raises(grpc.RpcError) as failed:
        next(tail_call(account))
    return error_response(failed.value)


def provoke_segment_limit(account: Account) -> Response:
    with account.service.unit_of_work() as tx:
        for number in range(segments.MAX_SEGMENTS):
            segments.create(account.id, f"{number}", "tags:vip", parse("tags:vip"), "", tx)
    return account.call("CreateSegment", name="more", filter="tags:vip")


def provoke_link_limit(account: Account) -> Response:
    link = {"name": "Ada", "scope": "read"}
    for _ in range(MAX_LINKS):
        account.ok("CreateSignInLink", **link)
    return account.call("CreateSignInLink", **link)


def provoke_operation_limit(account: Account) -> Response:
    """Starts replays to a disabled webhook that has many due deliveries, so that they wait."""
    webhook = create_webhook(account, "https://example.com/", enabled=False)
    for first in range(0, MAX_DUE + 100, 100):
        people = [{"email": f"{number}@example.com"} for number in range(first, first + 100)]
        account.ok("BulkCreateSubscribers", subscribers=people)
    replay = {"id": webhook["id"], **REQUESTS["ReplayWebhook"]}
    account.ok("ReplayWebhook", **replay)
    wait_until(lambda: not running_operations(account), "the replay does not end")
    for _ in range(MAX_RUNNING):
        account.ok("ReplayWebhook", **replay)
    return account.call("ReplayWebhook", **replay)


def provoke_not_ended(account: Account) -> Response:
    return undo_after(account, state=1, ended_at=None)


def provoke_expired_undo(account: Account) -> Response:
    return undo_after(account, ended_at=system_clock() - UNDO_MILLISECONDS)


def undo_after(account: Account, **columns: Any) -> Response:
    """Undoes an operation with other stored columns, which another process runs."""
    operation = run(account, filter="email:*", action={"addTags": ["vip"]})
    with account.service.unit_of_work() as tx:
        row = operations.find(account.id, operation["id"], tx)
        operations.put(account.id, row._replace(runner="other", **columns), tx)
    return account.call("UndoOperation", id=operation["id"])


def provoke_import_limit(account: Account) -> Response:
    for _ in range(MAX_OPEN):
        account.ok("CreateImport", **REQUESTS["CreateImport"])
    return account.call("CreateImport", **REQUESTS["CreateImport"])


def provoke_being_deleted(account: Account) -> Response:
    """Creates a field again whose values are not removed yet."""
    field_id = create_field(account, "Plan")["id"]
    with account.service.unit_of_work() as tx:
        text = (
            f"UPDATE custom_field SET label_key = '{DELETED_KEY}{field_id}'"
            f" WHERE account_id = '{account.id}' AND id = '{field_id}'"
        )
        tx.run(Statement(lambda _: SQL(text)))
    return account.call("CreateCustomField", label="Plan")


def provoke_unknown_method(account: Account) -> Response:
    if isinstance(account.front, HttpFront):
        return account.front.send("BREW", "/api/tags", account.key)
    assert isinstance(account.front, GrpcFront)
    with pytest.raises(grpc.RpcError) as failed:
        account.front.channel.unary_unary("/roster.v1.TagService/BrewTag")(b"", timeout=20)
    return error_response(failed.value)


# Each in a new account.
CALLS: dict[str, Provoke] = {
    **{reason: partial(provoke_conflict, reason) for reason in CONFLICTS},
    **{
        reason: partial(provoke_not_found, reason)
        for reason in REASONS
        if reason.endswith("_NOT_FOUND") and reason not in ("ROUTE_NOT_FOUND", "SERVICE_NOT_FOUND")
    },
    "UNAUTHORIZED": call_with_unknown_key,
    "VALIDATION_ERROR": call("CreateTag", name=""),
    "FORBIDDEN": with_scope("read", "CreateTag", name="vip"),
    "EMAIL_NOT_VERIFIED": provoke_email_not_verified,
    "IDEMPOTENCY_KEY_REUSED": provoke_key_reused,
    "IDEMPOTENCY_KEY_IN_USE": provoke_key_in_use,
    "IDEMPOTENT_RESPONSE_ERASED": provoke_response_erased,
    "TEST_DELIVERY_LIMIT_REACHED": provoke_test_limit,
    "STREAM_LIMIT_REACHED": provoke_stream_limit,
    "SEGMENT_LIMIT_REACHED": provoke_segment_limit,
    "SIGN_IN_LINK_LIMIT_REACHED": provoke_link_limit,
    "OPERATION_LIMIT_REACHED": provoke_operation_limit,
    "OPERATION_NOT_ENDED": provoke_not_ended,
    "UNDO_EXPIRED": provoke_expired_undo,
    "IMPORT_LIMIT_REACHED": provoke_import_limit,
    "CUSTOM_FIELD_BEING_DELETED": provoke_being_deleted,
    "METHOD_NOT_IMPLEMENTED": provoke_unknown_method,
}


def request(method: str, path: str, **sent: Any) -> Call:
    def send(account: Account) -> Response:
        assert isinstance(account.front, HttpFront)
        return account.front.send(method, path, account.key, **sent)

    return send


def provoke_scope_too_broad(account: Account) -> Response:
    form = urlencode({"key": account.key, "email": "ada@example.com"}).encode()
    return request("POST", "/api/signup", body=form, headers={"Content-Type": FORM})(account)


# Of HTTP itself.
REQUESTS_OVER_HTTP: dict[str, Provoke] = {
    "ROUTE_NOT_FOUND": request("GET", "/api/nothing"),
    "METHOD_NOT_ALLOWED": request("DELETE", "/api/tags"),
    "PAYLOAD_TOO_LARGE": request("POST", "/api/tags", body=b" " * (MAX_BODY_BYTES + 1)),
    "UNSUPPORTED_MEDIA_TYPE": request(
        "POST", "/api/tags", body=b"{}", headers={"Content-Type": "text/plain"}
    ),
    "API_KEY_SCOPE_TOO_BROAD": provoke_scope_too_broad,
    "CROSS_ORIGIN_REQUEST": request("POST", "/api/session", body=b'{"token": "x"}'),
    "HTTPS_REQUIRED": request(
        "POST", "/api/session", body=b'{"token": "x"}', headers={"Host": "news.example.com"}
    ),
}


def provoke_service_not_found(account: Account) -> Response:
    assert isinstance(account.front, GrpcFront)
    with pytest.raises(grpc.RpcError) as failed:
        health_stub(account.front.channel).Check(health_pb2.HealthCheckRequest(service="nothing"))
    return error_response(failed.value)


def provoke_unknown_field(account: Account) -> Response:
    """Sets the field 1000, which a later version could have."""
    assert isinstance(account.front, GrpcFront)
    list_tags = account.front.channel.unary_unary("/roster.v1.TagService/ListTags")
    with pytest.raises(grpc.RpcError) as failed:
        list_tags(b"\xc0\x3e\x01", metadata=[("authorization", f"Bearer {account.key}")])
    return error_response(failed.value)


# Of gRPC itself.
CALLS_OVER_GRPC: dict[str, Provoke] = {
    "SERVICE_NOT_FOUND": provoke_service_not_found,
    "FIELD_NOT_IMPLEMENTED": provoke_unknown_field,
}


def until_rejected(provoke: Call, reason: str, account: Account) -> Response:
    """Repeats a call until a limit rejects it."""
    responses = (provoke(account) for _ in range(1_000))
    return next(each for each in responses if each.status == mapping_of(reason).http)


def open_invalid_link(account: Account) -> Response:
    if not isinstance(account.front, HttpFront):
        return account.front.call("GetConfirmPage", None, {"token": "x"})
    status, _, page = account.front.exchange("GET", "/c/x")
    assert b"<html" in page
    # A page does not contain the code.
    return Response(status, {"error": {"code": "TooManyInvalidLinks"}})


# Of the limits of a service for an account or address, in this order.
LIMITED: dict[str, Call] = {
    "TOO_MANY_SIGNUPS": with_scope("signup", "SignUp", email="ada@example.com"),
    "TOO_MANY_INVALID_LINKS": open_invalid_link,
    "RATE_LIMITED": call("ListTags"),
    "TOO_MANY_INVALID_KEYS": call_with_unknown_key,
}


def mapping_of(reason: str) -> Any:
    value = errors_pb2.Error.Reason.DESCRIPTOR.values_by_name[reason]
    return value.GetOptions().Extensions[errors_pb2.error_mapping]


def check(provoked: Provoked, reason: str) -> None:
    code = provoked if isinstance(provoked, str) else provoked.code
    assert code == error_code_of(reason)
    if isinstance(provoked, Response):
        assert provoked.status == mapping_of(reason).http


def test_every_reason_is_provoked_or_named_with_its_cause() -> None:
    tables = (CALLS, REQUESTS_OVER_HTTP, CALLS_OVER_GRPC, LIMITED, NOT_PROVOKED)

    assert sorted(reason for table in tables for reason in table) == sorted(REASONS)


@each(("reason", "provoke"), CALLS.items())
def test_call_fails_with_its_reason(account: Account, reason: str, provoke: Provoke) -> None:
    check(provoke(new_account(account.service, account.front)), reason)


@over_http
@each(("reason", "provoke"), REQUESTS_OVER_HTTP.items())
def test_request_fails_with_its_reason(account: Account, reason: str, provoke: Provoke) -> None:
    check(provoke(account), reason)


@pytest.mark.parametrize("front_and_service", ["grpc"], indirect=True)
@each(("reason", "provoke"), CALLS_OVER_GRPC.items())
def test_call_over_grpc_fails_with_its_reason(
    account: Account, reason: str, provoke: Provoke
) -> None:
    check(provoke(account), reason)


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


@each(("reason", "provoke"), LIMITED.items())
def test_repeated_call_fails_with_the_reason_of_its_limit(
    limited_account: Account, reason: str, provoke: Call
) -> None:
    check(until_rejected(provoke, reason, limited_account), reason)
