"""Mapping of failed calls to HTTP errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2
from grpc import StatusCode, aio
from grpc_status import rpc_status

from roster.v1 import errors_pb2, tags_pb2
from rosterd.http_gateway import errors
from rosterd.http_gateway.app import Gateway
from rosterd.http_gateway.channel.in_process import InProcessChannel
from rosterd.http_gateway.request_errors import Detail, HttpError
from rosterd.http_gateway.responses import Response
from rosterd.server.serving.gateway_policy import POLICY

from ..cases import each
from ..fronts import HttpFront

REASONS = [value for value in errors_pb2.Error.Reason.DESCRIPTOR.values if value.number]


def failure(code: StatusCode, *details: Any, message: str = "No.") -> aio.AioRpcError:
    """Returns the error of a call; `details` are messages of google.rpc."""
    packed = [AnyMessage() for _ in details]
    for slot, detail in zip(packed, details, strict=True):
        slot.Pack(detail)
    number: int = code.value[0]
    status = rpc_status.to_status(status_pb2.Status(code=number, message=message, details=packed))
    trailing = aio.Metadata(*(status.trailing_metadata if details else ()))
    return aio.AioRpcError(code, aio.Metadata(), trailing, message)


def call_error(failed: aio.AioRpcError) -> HttpError:
    return errors.call_error(failed, POLICY.errors)


def body_of(response: Response) -> Any:
    assert isinstance(response.body, bytes)
    return json.loads(response.body)


# As google.rpc.Code documents them.
STATUSES = {
    StatusCode.CANCELLED: (499, "Cancelled"),
    StatusCode.UNKNOWN: (500, "Internal"),
    StatusCode.INVALID_ARGUMENT: (400, "ValidationError"),
    StatusCode.DEADLINE_EXCEEDED: (504, "DeadlineExceeded"),
    StatusCode.NOT_FOUND: (404, "NotFound"),
    StatusCode.ALREADY_EXISTS: (409, "AlreadyExists"),
    StatusCode.PERMISSION_DENIED: (403, "Forbidden"),
    StatusCode.UNAUTHENTICATED: (401, "Unauthorized"),
    StatusCode.RESOURCE_EXHAUSTED: (429, "ResourceExhausted"),
    StatusCode.FAILED_PRECONDITION: (400, "FailedPrecondition"),
    StatusCode.ABORTED: (409, "Aborted"),
    StatusCode.OUT_OF_RANGE: (400, "OutOfRange"),
    StatusCode.UNIMPLEMENTED: (501, "MethodNotImplemented"),
    StatusCode.INTERNAL: (500, "Internal"),
    StatusCode.UNAVAILABLE: (503, "Unavailable"),
    StatusCode.DATA_LOSS: (500, "Internal"),
}
FAILURES = [code for code in StatusCode if code is not StatusCode.OK]
each_code = pytest.mark.parametrize("code", FAILURES, ids=lambda code: code.name)


def status_and_code(error: HttpError) -> tuple[int, str]:
    return error.status, error.code


@each_code
def test_error_without_a_reason_depends_on_the_grpc_code_and_hides_its_message(
    code: StatusCode,
) -> None:
    error = call_error(failure(code, message="Unexpected <class 'Rose'> at 10.0.0.1"))

    assert status_and_code(error) == STATUSES[code]
    assert error.message.endswith(".")
    assert "Rose" not in error.message


@each_code
def test_unknown_reason_gets_the_status_of_its_grpc_code(code: StatusCode) -> None:
    info = error_details_pb2.ErrorInfo(reason="GARDEN_2_IS_CLOSED", domain="roster")
    violation = error_details_pb2.BadRequest.FieldViolation(
        field="gate", reason="LOCKED", description="is locked"
    )
    request = error_details_pb2.BadRequest(field_violations=[violation])

    error = call_error(failure(code, info, request, message="The garden is closed."))

    assert status_and_code(error) == (STATUSES[code][0], "Garden2IsClosed")
    assert error.message == "The garden is closed."
    assert error.details == [Detail("gate", "LOCKED", "is locked")]


@each(
    ("reason", "domain"),
    [
        ("TAG_NOT_FOUND", "example.com"),
        ("", "roster"),
        ("tagNotFound", "roster"),
        ("TAG\r\nSet-Cookie: a", "roster"),
    ],
)
def test_reason_of_another_domain_or_format_is_ignored(reason: str, domain: str) -> None:
    info = error_details_pb2.ErrorInfo(reason=reason, domain=domain)

    error = call_error(failure(StatusCode.NOT_FOUND, info, message="SELECT rose"))

    assert (status_and_code(error), error.message) == (
        (404, "NotFound"),
        "The resource does not exist.",
    )


@each(
    ("text", "status"),
    [
        ("SERVER: Received message larger than max (5000000 vs. 4194304)", 413),
        ("CLIENT: Sent message larger than max (5000000 vs. 4194304)", 413),
        ("grpc: received message larger than max (5000000 vs. 4194304)", 413),
        ("gRPC message exceeds maximum size 4194304: 5000000", 413),
        ("received metadata size exceeds hard limit (value length 20000 vs. 16384)", 413),
        ("Stream removed (CLIENT: Received message larger than max (5 vs. 4))", 500),
        ("CLIENT: Received message larger than max (5000000 vs. 4194304)", 500),
        ("SERVER: Sent message larger than max (5000000 vs. 4194304)", 500),
        ("grpc: trying to send message larger than max (5000000 vs. 4194304)", 500),
        ("Stream removed (received metadata size exceeds hard limit (value length 5 vs. 4))", 500),
        ("The daily quota is used up.", 429),
        ("", 429),
    ],
)
def test_resource_exhausted_is_a_large_request_a_large_response_or_a_quota(
    text: str, status: int
) -> None:
    error = call_error(failure(StatusCode.RESOURCE_EXHAUSTED, message=text))

    assert error.status == status
    assert not text or text not in error.message


def test_error_with_a_reason_keeps_its_message_and_details() -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field="name", reason="TOO_LONG", description="is too long"
    )
    failed = failure(
        StatusCode.INVALID_ARGUMENT,
        error_details_pb2.ErrorInfo(reason="VALIDATION_ERROR", domain="roster"),
        error_details_pb2.BadRequest(field_violations=[violation]),
        error_details_pb2.RequestInfo(request_id="server"),
    )

    assert call_error(failed) == HttpError(
        400, "VALIDATION_ERROR", "No.", [Detail("name", "TOO_LONG", "is too long")]
    )


def status_of(**fields: Any) -> bytes:
    return status_pb2.Status(**fields).SerializeToString()


GONE = {"code": StatusCode.NOT_FOUND.value[0], "message": "gone"}
INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff",
        status_of(**{**GONE, "code": StatusCode.ABORTED.value[0]}),
        status_of(**GONE, details=[{"type_url": INFO, "value": b"\xff"}]),
    ],
    ids=["no status", "another code", "malformed detail"],
)
def test_malformed_details_are_ignored(sent: bytes) -> None:
    trailing = aio.Metadata(("grpc-status-details-bin", sent))
    failed = aio.AioRpcError(StatusCode.NOT_FOUND, aio.Metadata(), trailing, "gone")

    error = call_error(failed)

    assert (status_and_code(error), error.message) == (
        (404, "NotFound"),
        "The resource does not exist.",
    )


def test_error_response_has_the_common_format() -> None:
    error = HttpError(
        409, "TAG_ALREADY_EXISTS", "Taken.", [Detail("name", "TAKEN", "is already in use")]
    )

    response = errors.response(error, "abc", {"X-Other": "1"})

    assert response.status == 409
    assert body_of(response) == {
        "error": {
            "code": "TagAlreadyExists",
            "message": "Taken.",
            "details": [{"field": "name", "code": "TAKEN", "message": "is already in use"}],
            "requestId": "abc",
        }
    }
    assert response.headers == {"X-Request-Id": "abc", "X-Other": "1"}


@each("value", REASONS)
def test_only_unauthorized_has_an_authentication_challenge(value: Any) -> None:
    response = errors.response(HttpError(POLICY.errors.statuses[value.name], value.name, ""), "abc")

    challenge = response.headers.get("WWW-Authenticate")
    assert challenge == ("Bearer" if value.name == "UNAUTHORIZED" else None)


def test_error_in_the_gateway_is_only_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = InProcessChannel(lambda _: None, ())
    gateway = Gateway(channel, [tags_pb2.DESCRIPTOR.services_by_name["TagService"]])

    def broken(*_: Any, **__: Any) -> Any:
        raise LookupError("rose")

    monkeypatch.setattr(channel, "unary_unary", broken)

    async def main() -> Any:
        runner = web.ServerRunner(gateway.server())
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            host, port = runner.addresses[0]
            front = HttpFront("http", f"{host}:{port}")
            return await asyncio.to_thread(front.send, "GET", "/api/tags")
        finally:
            await runner.cleanup()

    response = asyncio.run(main())

    assert (response.status, response.code) == (500, "Internal")
    assert "rose" not in str(response.body)
    assert "LookupError" not in str(response.body)
    (record,) = caplog.records
    assert vars(record)["requestId"] == response.body["error"]["requestId"]
    assert "LookupError: rose" in caplog.text
