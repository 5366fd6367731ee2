"""What a channel of roster.client adds to calls, and which it sends again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from roster import client
from roster.client.repeats import is_repeatable, methods, takes_key
from roster.v1.errors_pb2 import Error
from roster.v1.subscribers_pb2 import ExportSubscribersRequest
from roster.v1.subscribers_pb2_grpc import SubscriberServiceStub
from roster.v1.tags_pb2 import (
    CreateTagRequest,
    DeleteTagRequest,
    ListTagsRequest,
    ListTagsResponse,
    Tag,
)
from roster.v1.tags_pb2_grpc import TagServiceStub

from server.interceptors.around import method_of

from ..conftest import Account
from .lossy import Loss, losing
from .recorder import recording

# Calls a unary rpc of the tags at an address with a key: name, request, further arguments.
Caller = Callable[..., Any]


def call(address: str, key: str, rpc: str, request: Any, **arguments: Any) -> Any:
    with client.channel(address, key, tls=None) as channel:
        return getattr(TagServiceStub(channel), rpc)(request, **arguments)


def call_aio(address: str, key: str, rpc: str, request: Any, **arguments: Any) -> Any:
    async def run() -> Any:
        async with client.aio_channel(address, key, tls=None) as channel:
            return await getattr(TagServiceStub(channel), rpc)(request, **arguments)

    return asyncio.run(run())


@pytest.fixture(params=[call, call_aio], ids=["blocking", "asyncio"])
def caller(request: pytest.FixtureRequest) -> Caller:
    """A channel of each kind in turn."""
    found: Caller = request.param
    return found


def test_call_carries_the_key_a_deadline_and_a_fresh_idempotency_key(caller: Caller) -> None:
    with recording() as recorder:
        for _ in range(2):
            caller(recorder.address, "rk_key", "CreateTag", CreateTagRequest())

    first, second = recorder.calls
    assert first.metadata["authorization"] == "Bearer rk_key"
    assert first.seconds is not None
    assert first.seconds < 60
    assert first.metadata["idempotency-key"]
    assert first.metadata["idempotency-key"] != second.metadata["idempotency-key"]


def test_what_the_caller_says_of_a_call_stays(caller: Caller) -> None:
    given = {"metadata": (("idempotency-key", "mine"), ("x-request-id", "r1")), "timeout": 1000}

    with recording() as recorder:
        caller(recorder.address, "rk_key", "CreateTag", CreateTagRequest(), **given)

    (came,) = recorder.calls
    assert (came.metadata["idempotency-key"], came.metadata["x-request-id"]) == ("mine", "r1")
    assert came.seconds is not None
    assert came.seconds > 60


def test_reading_carries_no_idempotency_key(caller: Caller) -> None:
    with recording() as recorder:
        caller(recorder.address, "rk_key", "ListTags", ListTagsRequest())

    assert "idempotency-key" not in recorder.calls[0].metadata


def test_answer_may_be_larger_than_what_grpc_takes_by_itself(caller: Caller) -> None:
    tag = Tag(description="x" * 5 * 1024 * 1024)

    with recording() as recorder:
        recorder.reply = ListTagsResponse(tags=[tag]).SerializeToString()
        answer = caller(recorder.address, "rk_key", "ListTags", ListTagsRequest())

    assert answer.tags[0] == tag


def test_stream_carries_the_key_and_ends_when_it_is_done() -> None:
    request = ExportSubscribersRequest()

    async def run(address: str) -> None:
        async with client.aio_channel(address, "rk_key", tls=None) as channel:
            assert [
                each async for each in SubscriberServiceStub(channel).ExportSubscribers(request)
            ]

    with recording() as recorder:
        with client.channel(recorder.address, "rk_key", tls=None) as channel:
            assert list(SubscriberServiceStub(channel).ExportSubscribers(request))
        asyncio.run(run(recorder.address))

    for came in recorder.calls:
        assert came.metadata["authorization"] == "Bearer rk_key"
        assert came.seconds is None


def test_creation_whose_answer_is_lost_is_repeated_and_has_one_effect(
    grpc_account: Account, caller: Caller
) -> None:
    with losing(grpc_account.service.grpc, Loss.ANSWER) as proxy:
        answer = caller(proxy.address, grpc_account.key, "CreateTag", CreateTagRequest(name="vip"))

    (tag,) = grpc_account.ok("ListTags")["tags"]
    assert answer.tag.id == tag["id"]
    assert proxy.losses == []


def test_call_is_repeated_while_the_service_cannot_be_reached(
    grpc_account: Account, caller: Caller
) -> None:
    losses = [Loss.CONNECTION, Loss.CONNECTION]

    with losing(grpc_account.service.grpc, *losses) as proxy:
        answer = caller(proxy.address, grpc_account.key, "ListTags", ListTagsRequest())

    assert answer.total == 0
    assert proxy.losses == []


def test_deletion_is_not_repeated_since_it_would_find_nothing(
    grpc_account: Account, caller: Caller
) -> None:
    tag = grpc_account.ok("CreateTag", name="vip")["tag"]

    with (
        losing(grpc_account.service.grpc, Loss.ANSWER) as proxy,
        pytest.raises(grpc.RpcError) as refused,
    ):
        caller(proxy.address, grpc_account.key, "DeleteTag", DeleteTagRequest(id=tag["id"]))

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert client.error_of(refused.value).reason == Error.REASON_UNSPECIFIED
    assert grpc_account.ok("ListTags")["tags"] == []


def test_error_tells_its_reason_and_its_faults(grpc_account: Account, caller: Caller) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        caller(grpc_account.service.grpc, grpc_account.key, "CreateTag", CreateTagRequest(name=" "))

    error = client.error_of(refused.value)
    assert error.reason == Error.VALIDATION_ERROR
    assert [(fault.field, fault.code) for fault in error.details] == [
        ("name", Error.Detail.REQUIRED)
    ]
    assert error.details[0].message
    assert error.message == refused.value.details()
    assert error.request_id


def test_client_sends_keys_with_what_the_service_keeps_answers_of() -> None:
    for method in methods():
        path = f"/{method.containing_service.full_name}/{method.name}"
        assert takes_key(method) == (method_of(path).kept_answer is not None), path


def test_deletions_and_imports_alone_are_not_repeated() -> None:
    once = {method.name for method in methods() if not is_repeatable(method)}

    assert once == {
        "DeleteCustomField",
        "DeleteSubscriber",
        "DeleteSuppression",
        "DeleteTag",
        "ImportSubscribers",
        "RevokeApiKey",
    }
