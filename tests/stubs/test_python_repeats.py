"""Which calls a channel of roster.client sends again, and when."""

from __future__ import annotations

import json

import grpc
import pytest
from roster import client
from roster.client.repeats import is_repeatable, methods, service_config, takes_key
from roster.v1.errors_pb2 import Error
from roster.v1.tags_pb2 import CreateTagRequest, DeleteTagRequest, ListTagsRequest

from server.interceptors.base import method_of

from ..conftest import Account
from .callers import Caller
from .lossy import Loss, losing


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


def test_client_sends_keys_with_what_the_service_keeps_answers_of() -> None:
    for method in methods():
        path = f"/{method.containing_service.full_name}/{method.name}"
        assert takes_key(method) == (method_of(path).stored_response_type is not None), path


def test_deletions_and_imports_alone_are_not_repeated() -> None:
    once = {method.name for method in methods() if not is_repeatable(method)}

    assert once == {
        "DeleteCustomField",
        "DeleteSubscriber",
        "DeleteSuppression",
        "DeleteTag",
        "DeleteWebhook",
        "ImportSubscribers",
        "RevokeApiKey",
    }


def test_attempts_outlast_a_start_and_follow_each_other_closely() -> None:
    (config,) = json.loads(service_config())["methodConfig"]
    retry = config["retryPolicy"]
    first, longest = (float(retry[name][:-1]) for name in ("initialBackoff", "maxBackoff"))
    again = retry["maxAttempts"] - 1

    gaps = [min(first * retry["backoffMultiplier"] ** number, longest) for number in range(again)]

    assert again < 5, "gRPC makes five attempts, whatever it is told"
    assert max(gaps) <= 2.5
    assert sum(gaps) >= 6
