"""The header Grpc-Timeout, over both channels."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict

from rosterd.http_gateway import app, timeouts
from rosterd.http_gateway.request_errors import RequestError

from .client import Client, ReceivedResponse
from .serving import gateway_to, run
from .stream_service import message, notes_reply

each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])
DAY = 24 * 3600.0
# gRPC rounds a forwarded timeout up.
ROUNDED = 1.1


def timeout_of_headers(*values: str) -> float | None:
    headers = CIMultiDict([("Grpc-Timeout", value) for value in values])
    return timeouts.timeout_of(make_mocked_request("GET", "/", headers=headers))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1H", 3600.0),
        ("250m", 0.25),
        ("70000000n", 7e-2),
        ("00000010S", 10.0),
        ("99999999H", timeouts.MAX_SECONDS),
    ],
)
def test_timeout_is_digits_and_a_unit(text: str, seconds: float) -> None:
    assert timeout_of_headers(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["1n", "999u"])
def test_timeout_too_short_for_a_call_is_exceeded(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        timeout_of_headers(text)

    assert caught.value.error.reason == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize(
    "values",
    [
        ("",),
        ("5",),
        ("S",),
        ("-1S",),
        ("0H",),
        ("1.5S",),
        ("1s",),
        ("100000000S",),
        ("١S",),
        ("5S,6S",),
        ("5S", "5S"),
    ],
    ids=ascii,
)
def test_invalid_timeout_is_rejected_with_the_header_name(values: tuple[str, ...]) -> None:
    with pytest.raises(RequestError) as caught:
        timeout_of_headers(*values)

    (detail,) = caught.value.error.details
    assert detail.field == "Grpc-Timeout"


class TimeoutRecorder:
    """Handlers that record the remaining time."""

    def __init__(self) -> None:
        self.remaining: list[float | None] = []

    async def unary(self, _request: Any, context: Any) -> Any:
        self.remaining.append(context.time_remaining())
        return message("Total")

    async def send_notes(self, _request: Any, context: Any) -> AsyncIterator[Any]:
        self.remaining.append(context.time_remaining())
        yield notes_reply("a")


def remaining(
    kind: str, method: str, path: str, timeout: str
) -> tuple[ReceivedResponse, float | None]:
    """Returns the response and the remaining time of the handler."""
    handlers = TimeoutRecorder()

    async def main() -> ReceivedResponse:
        async with gateway_to(kind, Unary=handlers.unary, List=handlers.send_notes) as runner:
            client = await Client.to(runner)
            headers = {"Grpc_Timeout": timeout} if timeout else {}
            await client.begin(method, path, **headers)
            if method == "POST":
                await client.send(b"{}")
                await client.finish()
            return await client.response()

    got = run(main())
    return got, handlers.remaining[-1] if handlers.remaining else None


@each_channel
@pytest.mark.parametrize(
    ("target", "timeout", "least", "most"),
    [
        ("POST /unary", "", 20.0, app.CALL_SECONDS),
        ("POST /unary", "9S", 5.0, 9.0),
        ("POST /unary", "1H", 20.0, app.CALL_SECONDS),
        ("POST /unary", "99999999H", 20.0, app.CALL_SECONDS),
        ("GET /list", "9S", 5.0, 9.0),
        ("GET /list", "24H", DAY - 100, DAY),
    ],
)
def test_timeout_is_the_deadline_of_a_stream_and_can_only_shorten_that_of_a_call(
    kind: str, target: str, timeout: str, least: float, most: float
) -> None:
    method, path = target.split()

    got, seconds = remaining(kind, method, path, timeout)

    assert got.status == 200
    assert seconds is not None
    assert least < seconds < most * ROUNDED


@each_channel
def test_stream_has_no_default_deadline(kind: str) -> None:
    assert remaining(kind, "GET", "/list", "")[1] is None


@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        ("/unary", "application/json", b"{"),
        ("/exchange", "text/plain", b"a"),
        ("/collect/x", "text/csv", b'"a'),
    ],
)
def test_timeout_applies_to_invalid_requests(path: str, content_type: str, body: bytes) -> None:
    async def unary(_request: Any, _context: Any) -> Any:
        await asyncio.Event().wait()

    async def exchange(_requests: Any, _context: Any) -> AsyncIterator[Any]:
        await asyncio.Event().wait()
        yield notes_reply()

    async def collect(requests: Any, _context: Any) -> Any:
        async for _ in requests:
            pass
        await asyncio.Event().wait()

    async def main() -> ReceivedResponse:
        async with gateway_to("real", Unary=unary, Exchange=exchange, Collect=collect) as runner:
            client = await Client.to(runner)
            await client.begin("POST", path, Content_Type=content_type, Grpc_Timeout="300m")
            await client.send(body)
            await client.finish()
            return await client.response()

    got = run(main())

    assert (got.status, json.loads(got.body)["error"]["code"]) == (504, "DeadlineExceeded")
