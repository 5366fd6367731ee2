"""What is told of a call whose answer was lost."""

from __future__ import annotations

import pytest
from google.protobuf import any_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from grpc_status import rpc_status
from roster.v1 import merge_tags_pb2, subscribers_pb2, tags_pb2

from http_gateway import errors
from http_gateway.ambiguous_failures import classify_failure, has_effect
from http_gateway.request_errors import Reason, RequestError

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
def test_protos_say_what_changes_something(method: MethodDescriptor, changes: bool) -> None:
    assert has_effect(method) is changes


@pytest.mark.parametrize(
    "text",
    [
        "Stream removed (Socket closed)",
        "Socket closed",
        "Connection reset by peer",
        "keepalive watchdog timeout",
        "Cancelling all calls",
        "upstream connect error or disconnect/reset before headers",
    ],
)
def test_lost_answer_of_a_call_with_an_effect_is_no_promise_that_nothing_was_changed(
    text: str,
) -> None:
    told = classify_failure(failure(StatusCode.UNAVAILABLE, text), CREATE, ())

    assert isinstance(told, RequestError)
    assert told.error.reason == Reason.Value("INTERNAL")
    assert "unknown whether this request took effect" in told.error.message


@pytest.mark.parametrize("details", [REFUSED, ALL_REFUSED, "DNS resolution failed for roster"])
def test_call_that_was_never_sent_changed_nothing(details: str) -> None:
    for method in (CREATE, GET):
        told = classify_failure(failure(StatusCode.UNAVAILABLE, details), method, ())

        assert isinstance(told, RequestError)
        assert told.error.reason == Reason.Value("UNAVAILABLE")
        assert "Nothing was changed" in told.error.message


def test_server_that_gives_no_reason_is_unavailable_and_promises_nothing() -> None:
    failed = failure(StatusCode.UNAVAILABLE, "The library is closed.")

    assert classify_failure(failed, CREATE, ()) is failed
    assert errors.call_error(failed).status == 503
    assert "changed" not in errors.call_error(failed).message


@pytest.mark.parametrize(
    ("method", "metadata"), [(UPDATE, ()), (CREATE, KEY)], ids=["put", "keyed"]
)
def test_call_that_is_repeated_may_have_been_sent_before_there_was_no_connection(
    method: MethodDescriptor, metadata: tuple[tuple[str, str], ...]
) -> None:
    told = classify_failure(failure(StatusCode.UNAVAILABLE, ALL_REFUSED), method, metadata)

    assert isinstance(told, RequestError)


def test_call_that_the_server_refused_changed_nothing() -> None:
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason="UNAVAILABLE", domain="roster"))
    status = status_pb2.Status(code=14, message="busy", details=[packed])
    trailing = rpc_status.to_status(status).trailing_metadata
    failed = failure(StatusCode.UNAVAILABLE, "busy", *trailing)

    assert classify_failure(failed, CREATE, ()) is failed


@pytest.mark.parametrize(
    ("code", "method"),
    [(StatusCode.UNAVAILABLE, GET), (StatusCode.DEADLINE_EXCEEDED, CREATE)],
)
def test_other_failures_are_told_as_they_are(code: StatusCode, method: MethodDescriptor) -> None:
    failed = failure(code, "Socket closed")

    assert classify_failure(failed, method, ()) is failed
