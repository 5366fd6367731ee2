"""Errors of calls that may or may not have taken effect."""

from __future__ import annotations

import pytest
from google.protobuf import any_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from grpc_status import rpc_status

from roster.v1 import merge_tags_pb2, subscribers_pb2, tags_pb2
from rosterd.http_gateway import errors
from rosterd.http_gateway.ambiguous_failures import classify_failure, has_effect
from rosterd.http_gateway.request_errors import RequestError
from rosterd.server.serving.gateway_policy import POLICY

TAGS = tags_pb2.DESCRIPTOR.services_by_name["TagService"].methods_by_name
CREATE, GET, UPDATE = TAGS["CreateTag"], TAGS["GetTag"], TAGS["UpdateTag"]
SUBSCRIBERS = subscribers_pb2.DESCRIPTOR.services_by_name["SubscriberService"].methods_by_name
MERGE_TAGS = merge_tags_pb2.DESCRIPTOR.services_by_name["MergeTagService"].methods_by_name
KEY = (("idempotency-key", "once"),)
REFUSED = "failed to connect to all addresses; last error: UNKNOWN: Connection refused"
ALL_REFUSED = "connections to all backends failing; last error: UNKNOWN: Connection refused"


def failure(code: StatusCode, details: str, *trailing: tuple[str, bytes]) -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(*trailing), details)


@pytest.mark.parametrize(
    ("method", "changes"),
    [
        (CREATE, True),
        (GET, False),
        (TAGS["DeleteTag"], True),
        (UPDATE, True),
        (MERGE_TAGS["RenderMergeTags"], False),
        (SUBSCRIBERS["ExportSubscribers"], False),
    ],
)
def test_method_options_determine_which_calls_have_an_effect(
    method: MethodDescriptor, changes: bool
) -> None:
    assert has_effect(method) is changes


@pytest.mark.parametrize(
    "text",
    [
        "Stream removed (Socket closed)",
        "Connection reset by peer",
        "keepalive watchdog timeout",
        "upstream connect error or disconnect/reset before headers",
    ],
)
def test_lost_connection_of_a_call_with_an_effect_is_an_unknown_outcome(
    text: str,
) -> None:
    error = classify_failure(failure(StatusCode.UNAVAILABLE, text), CREATE, (), POLICY)

    assert isinstance(error, RequestError)
    assert error.error.reason == "INTERNAL"
    assert "unknown whether this request took effect" in error.error.message


@pytest.mark.parametrize("details", [REFUSED, ALL_REFUSED, "DNS resolution failed for roster"])
def test_call_without_a_connection_reports_that_nothing_was_changed(details: str) -> None:
    for method in (CREATE, GET):
        error = classify_failure(failure(StatusCode.UNAVAILABLE, details), method, (), POLICY)

        assert isinstance(error, RequestError)
        assert error.error.reason == "UNAVAILABLE"
        assert "Nothing was changed" in error.error.message


def test_unavailable_without_a_reason_does_not_claim_that_nothing_was_changed() -> None:
    failed = failure(StatusCode.UNAVAILABLE, "The library is closed.")

    assert classify_failure(failed, CREATE, (), POLICY) is failed
    assert errors.call_error(failed, POLICY.errors).status == 503
    assert "changed" not in errors.call_error(failed, POLICY.errors).message


@pytest.mark.parametrize(
    ("method", "metadata"), [(UPDATE, ()), (CREATE, KEY)], ids=["put", "keyed"]
)
def test_retried_call_without_a_connection_is_an_unknown_outcome(
    method: MethodDescriptor, metadata: tuple[tuple[str, str], ...]
) -> None:
    error = classify_failure(failure(StatusCode.UNAVAILABLE, ALL_REFUSED), method, metadata, POLICY)

    assert isinstance(error, RequestError)


def test_rejection_by_the_server_is_forwarded() -> None:
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason="UNAVAILABLE", domain="roster"))
    status = status_pb2.Status(code=14, message="busy", details=[packed])
    trailing = rpc_status.to_status(status).trailing_metadata
    failed = failure(StatusCode.UNAVAILABLE, "busy", *trailing)

    assert classify_failure(failed, CREATE, (), POLICY) is failed


@pytest.mark.parametrize(
    ("code", "method"),
    [(StatusCode.UNAVAILABLE, GET), (StatusCode.DEADLINE_EXCEEDED, CREATE)],
)
def test_other_failures_are_forwarded(code: StatusCode, method: MethodDescriptor) -> None:
    failed = failure(code, "Socket closed")

    assert classify_failure(failed, method, (), POLICY) is failed
