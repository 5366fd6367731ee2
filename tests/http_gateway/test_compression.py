"""Compression of responses with gzip."""

from __future__ import annotations

import asyncio
import gzip
from types import SimpleNamespace
from typing import Any

import pytest
from multidict import CIMultiDict

from roster.v1 import api_keys_pb2, tags_pb2, webhooks_pb2
from rosterd.http_gateway.compression import MIN_BYTES, SLICE_BYTES, accepts_gzip, compress
from rosterd.http_gateway.responses import Response
from rosterd.http_gateway.routing.responses import holds_secret


def request_with(*accepted: str) -> Any:
    headers = CIMultiDict([("Accept-Encoding", value) for value in accepted])
    return SimpleNamespace(headers=headers)


@pytest.mark.parametrize(
    ("accepted", "is_accepted"),
    [
        ([], False),
        (["br"], False),
        (["GZip"], True),
        (["deflate, gzip;q=1.0, *;q=0.5"], True),
        (["*"], True),
        (["*;q=0"], False),
        (["gzip;q=0"], False),
        (["gzip;q=0, *"], False),
        (["*;q=0, gzip"], True),
        (["gzip;q=0.5, identity"], False),
        (["gzip;q=0.5, identity;q=0.5"], True),
        (["gzip;q=x"], False),
    ],
)
def test_gzip_is_used_if_the_client_accepts_it(accepted: list[str], is_accepted: bool) -> None:
    assert accepts_gzip(request_with(*accepted)) == is_accepted


@pytest.mark.parametrize("size", [MIN_BYTES, SLICE_BYTES, 3 * SLICE_BYTES + 1])
def test_compressed_body_decompresses_to_the_original(size: int) -> None:
    body = bytes(place % 251 for place in range(size))
    response = Response(200, "a", body)

    asyncio.run(compress(response, request_with("gzip")))

    assert response.body is not None
    assert gzip.decompress(response.body) == body
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == (
        "gzip",
        "Accept-Encoding",
    )


def test_small_body_is_not_compressed() -> None:
    body = b"a" * (MIN_BYTES - 1)
    response = Response(200, "a", body)

    asyncio.run(compress(response, request_with("gzip")))

    assert (response.body, response.headers.keys()) == (body, {"X-Request-Id"})


def test_compression_of_a_large_body_yields_to_other_tasks() -> None:
    async def main() -> int:
        turns = 0

        async def other_task() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.ensure_future(other_task())
        await compress(Response(200, "a", b"a" * (4 * SLICE_BYTES)), request_with("gzip"))
        task.cancel()
        return turns

    assert asyncio.run(main()) == 3


def test_bindings_with_a_secret_in_the_response_are_detected() -> None:
    found = {
        message.name
        for file in (api_keys_pb2, tags_pb2, webhooks_pb2)
        for message in file.DESCRIPTOR.message_types_by_name.values()
        if holds_secret(message)
    }

    assert found == {
        "CreateApiKeyResponse",
        "RotateApiKeyResponse",
        "CreateWebhookResponse",
        "RotateWebhookSecretResponse",
    }
