"""What a channel of roster.client adds to calls, and what it says of those that were refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest
from roster import client
from roster.v1.errors_pb2 import Error
from roster.v1.subscribers_pb2 import (
    BulkSubscriber,
    ExportSubscribersRequest,
    ImportSubscribersRequest,
)
from roster.v1.subscribers_pb2_grpc import SubscriberServiceStub
from roster.v1.tags_pb2 import CreateTagRequest, ListTagsRequest, ListTagsResponse, Tag

from ..conftest import Account
from .callers import Caller
from .recorder import recording


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


async def each_in_turn(requests: list[ImportSubscribersRequest]) -> AsyncIterator[Any]:
    for request in requests:
        yield request


@pytest.mark.parametrize("form", [list, each_in_turn])
def test_import_that_is_refused_ends_as_the_service_says(
    grpc_account: Account, form: Callable[[list[ImportSubscribersRequest]], Any]
) -> None:
    # More than fits into what is under way, so that it is refused while it is sent.
    row = BulkSubscriber(email="ada@example.com", first_name="x" * 65_536)
    requests = [ImportSubscribersRequest(rows=[row])] * 64
    reader = grpc_account.new_key("read")

    async def reasons() -> list[int]:
        reasons: list[int] = []
        async with client.aio_channel(grpc_account.service.grpc, reader, tls=None) as channel:
            for _ in range(10):
                with pytest.raises(grpc.RpcError) as refused:
                    await anext(
                        aiter(SubscriberServiceStub(channel).ImportSubscribers(form(requests)))
                    )
                reasons.append(client.error_of(refused.value).reason)
        return reasons

    assert asyncio.run(reasons()) == [Error.FORBIDDEN] * 10


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
