"""Tests which calls a channel of roster.client retries, and when."""

from __future__ import annotations

import json

import grpc
import pytest

from roster import client
from roster.client.repeats import is_repeatable, methods, service_config, takes_key
from roster.v1.errors_pb2 import Error
from roster.v1.tags_pb2 import CreateTagRequest, DeleteTagRequest, ListTagsRequest
from rosterd.server.rpc.interceptors.base import method_of

from ..conftest import Account
from .callers import Caller
from .lossy_proxy import Loss, losing


def test_create_with_a_lost_response_is_retried_and_has_one_effect(
    grpc_account: Account, caller: Caller
) -> None:
    with losing(grpc_account.service.grpc, Loss.RESPONSE) as proxy:
        response = caller(
            proxy.address, grpc_account.key, "CreateTag", CreateTagRequest(name="vip")
        )

    (tag,) = grpc_account.ok("ListTags")["tags"]
    assert response.tag.id == tag["id"]
    assert proxy.losses == []


def test_call_is_retried_while_the_service_is_unreachable(
    grpc_account: Account, caller: Caller
) -> None:
    losses = [Loss.CONNECTION, Loss.CONNECTION]

    with losing(grpc_account.service.grpc, *losses) as proxy:
        response = caller(proxy.address, grpc_account.key, "ListTags", ListTagsRequest())

    assert response.total == 0
    assert proxy.losses == []


def test_delete_is_not_retried_because_it_would_return_not_found(
    grpc_account: Account, caller: Caller
) -> None:
    tag = grpc_account.ok("CreateTag", name="vip")["tag"]

    with (
        losing(grpc_account.service.grpc, Loss.RESPONSE) as proxy,
        pytest.raises(grpc.RpcError) as refused,
    ):
        caller(proxy.address, grpc_account.key, "DeleteTag", DeleteTagRequest(id=tag["id"]))

    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert client.error_of(refused.value).reason == Error.REASON_UNSPECIFIED
    assert grpc_account.ok("ListTags")["tags"] == []


def test_client_sends_idempotency_keys_to_methods_that_store_responses() -> None:
    for method in methods():
        path = f"/{method.containing_service.full_name}/{method.name}"
        stores_response = method_of(path).stored_response_type is not None
        # An upsert can be repeated without a key.
        assert takes_key(method) == (stores_response and method.name != "UpdateSubscriber"), path


# An update of an import starts its inspection again.
NOT_RETRIED = ("Delete", "Revoke", "Import", "SignIn", "SignOut", "UpdateImport")


def test_all_methods_except_deletes_imports_and_sign_in_are_retried() -> None:
    for method in methods():
        assert is_repeatable(method) != method.name.startswith(NOT_RETRIED), method.name


def test_attempts_cover_a_restart_of_the_service() -> None:
    (config,) = json.loads(service_config())["methodConfig"]
    retry = config["retryPolicy"]
    first, longest = (float(retry[name][:-1]) for name in ("initialBackoff", "maxBackoff"))
    again = retry["maxAttempts"] - 1

    gaps = [min(first * retry["backoffMultiplier"] ** number, longest) for number in range(again)]

    assert again < 5, "gRPC makes at most five attempts"
    assert max(gaps) <= 2.5
    assert sum(gaps) >= 6
