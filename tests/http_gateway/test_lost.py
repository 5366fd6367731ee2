"""What is told of a call whose answer was lost."""

from __future__ import annotations

import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError, Metadata
from grpc_status import rpc_status

from http_gateway.faults import Reason, RequestFault
from http_gateway.lost import has_effect, outcome_of

CREATE = "/roster.v1.TagService/CreateTag"
GET = "/roster.v1.TagService/GetTag"
UPDATE = "/roster.v1.TagService/UpdateTag"
KEY = (("idempotency-key", "once"),)
REFUSED = "failed to connect to all addresses; last error: UNKNOWN: Connection refused"
ALL_REFUSED = "connections to all backends failing; last error: UNKNOWN: Connection refused"


def failure(code: StatusCode, details: str, *trailing: tuple[str, bytes]) -> AioRpcError:
    return AioRpcError(code, Metadata(), Metadata(*trailing), details)


@pytest.mark.parametrize(
    ("rpc", "changes"),
    [
        (CREATE, True),
        (GET, False),
        ("/roster.v1.TagService/DeleteTag", True),
        ("/roster.v1.TagService/UpdateTag", True),
        ("/roster.v1.MergeTagService/RenderMergeTags", False),
        ("/roster.v1.SubscriberService/ExportSubscribers", False),
    ],
)
def test_protos_say_what_changes_something(rpc: str, changes: bool) -> None:
    assert has_effect(rpc) is changes


def test_lost_answer_of_a_call_with_an_effect_is_no_promise_that_nothing_was_changed() -> None:
    told = outcome_of(failure(StatusCode.UNAVAILABLE, "Socket closed"), CREATE, ())

    assert isinstance(told, RequestFault)
    assert told.error.reason == Reason.Value("INTERNAL")
    assert "nobody knows" in told.error.message


@pytest.mark.parametrize("details", [REFUSED, ALL_REFUSED, "DNS resolution failed for roster"])
def test_call_that_was_never_sent_changed_nothing(details: str) -> None:
    failed = failure(StatusCode.UNAVAILABLE, details)

    assert outcome_of(failed, CREATE, ()) is failed


@pytest.mark.parametrize(("rpc", "metadata"), [(UPDATE, ()), (CREATE, KEY)], ids=["put", "keyed"])
def test_call_that_is_repeated_may_have_been_sent_before_there_was_no_connection(
    rpc: str, metadata: tuple[tuple[str, str], ...]
) -> None:
    told = outcome_of(failure(StatusCode.UNAVAILABLE, ALL_REFUSED), rpc, metadata)

    assert isinstance(told, RequestFault)


def test_call_that_the_server_refused_changed_nothing() -> None:
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason="UNAVAILABLE", domain="roster"))
    status = status_pb2.Status(code=14, message="busy", details=[packed])
    trailing = rpc_status.to_status(status).trailing_metadata
    failed = failure(StatusCode.UNAVAILABLE, "busy", *trailing)

    assert outcome_of(failed, CREATE, ()) is failed


@pytest.mark.parametrize(
    ("code", "rpc"),
    [(StatusCode.UNAVAILABLE, GET), (StatusCode.DEADLINE_EXCEEDED, CREATE)],
)
def test_other_failures_are_told_as_they_are(code: StatusCode, rpc: str) -> None:
    failed = failure(code, "Socket closed")

    assert outcome_of(failed, rpc, ()) is failed
