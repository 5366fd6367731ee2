"""Tests the channels of roster.client: metadata, deadlines, and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc
import pytest

from roster import client
from roster.v1.errors_pb2 import Error
from roster.v1.subscribers_pb2 import (
    ExportSubscribersRequest,
    ImportSubscriber,
    ImportSubscribersRequest,
)
from roster.v1.subscribers_pb2_grpc import SubscriberServiceStub
from roster.v1.tags_pb2 import CreateTagRequest, ListTagsRequest, ListTagsResponse, Tag

from ..conftest import Account
from .callers import Caller
from .recorder import recording


def test_call_has_the_key_a_deadline_and_a_new_idempotency_key(caller: Caller) -> None:
    with recording() as recorder:
        for _ in range(2):
            caller(recorder.address, "rk_key", "CreateTag", CreateTagRequest())

    first, second = recorder.calls
    assert first.metadata["authorization"] == "Bearer rk_key"
    assert first.seconds is not None
    assert first.seconds < 60
    assert first.metadata["idempotency-key"]
    assert first.metadata["idempotency-key"] != second.metadata["idempotency-key"]


def test_metadata_and_timeout_of_the_caller_are_preserved(caller: Caller) -> None:
    options = {"metadata": (("idempotency-key", "mine"), ("x-request-id", "r1")), "timeout": 1000}

    with recording() as recorder:
        caller(recorder.address, "rk_key", "CreateTag", CreateTagRequest(), **options)

    (came,) = recorder.calls
    assert (came.metadata["idempotency-key"], came.metadata["x-request-id"]) == ("mine", "r1")
    assert came.seconds is not None
    assert came.seconds > 60


def test_read_has_no_idempotency_key(caller: Caller) -> None:
    with recording() as recorder:
        caller(recorder.address, "rk_key", "ListTags", ListTagsRequest())

    assert "idempotency-key" not in recorder.calls[0].metadata


def test_response_can_exceed_the_default_limit_of_grpc(caller: Caller) -> None:
    tag = Tag(description="x" * 5 * 1024 * 1024)

    with recording() as recorder:
        recorder.reply = ListTagsResponse(tags=[tag]).SerializeToString()
        response = caller(recorder.address, "rk_key", "ListTags", ListTagsRequest())

    assert response.tags[0] == tag


def test_stream_has_the_key_and_no_deadline() -> None:
    request = ExportSubscribersRequest()

    async def run(address: str) -> None:
        async with client.aio_channel(address, "rk_key", tls=None) as channel:
            assert [
                reply async for reply in SubscriberServiceStub(channel).ExportSubscribers(request)
            ]

    with recording() as recorder:
        with client.channel(recorder.address, "rk_key", tls=None) as channel:
            assert list(SubscriberServiceStub(channel).ExportSubscribers(request))
        asyncio.run(run(recorder.address))

    for came in recorder.calls:
        assert came.metadata["authorization"] == "Bearer rk_key"
        assert came.seconds is None


async def as_async_iterator(requests: list[ImportSubscribersRequest]) -> AsyncIterator[Any]:
    for request in requests:
        yield request


@pytest.mark.parametrize("form", [list, as_async_iterator])
def test_rejected_import_raises_the_error_of_the_service(
    grpc_account: Account, form: Callable[[list[ImportSubscribersRequest]], Any]
) -> None:
    # The requests exceed the flow-control window, so the call fails while it sends.
    row = ImportSubscriber(email="ada@example.com", first_name="x" * 65_536)
    requests = [ImportSubscribersRequest(subscribers=[row])] * 64
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


def test_error_contains_reason_and_field_violations(grpc_account: Account, caller: Caller) -> None:
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
    assert error.metadata == {}


def test_error_contains_the_variables_of_its_message(grpc_account: Account, caller: Caller) -> None:
    reader = grpc_account.new_key("read")

    with pytest.raises(grpc.RpcError) as refused:
        caller(grpc_account.service.grpc, reader, "CreateTag", CreateTagRequest(name="vip"))

    error = client.error_of(refused.value)
    assert (error.reason, error.details) == (Error.FORBIDDEN, ())
    assert error.metadata == {"neededScope": "write", "scope": "read"}
