"""Requests without a required proto2 field are rejected."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from rosterd.http_gateway.options import Options

from ...cases import each
from ..client import get, post
from ..serving import gateway_to, run
from .protos import compiled

SERVICE = compiled("""
    syntax = "proto2";
    package required;
    import "google/api/annotations.proto";
    message Word { required string text = 1; optional string note = 2; }
    service Words {
      rpc One(Word) returns (Word) { option (google.api.http) = { get: "/one" }; }
      rpc Each(stream Word) returns (stream Word) {
        option (google.api.http) = { post: "/each" body: "*" };
      }
    }
""").services_by_name["Words"]


@each("kind", ["in-process", "real"])
@each("target", ["/one", "/one?text=a&oops=1", "/each"])
def test_invalid_request_is_not_sent_to_a_server_without_authentication(
    kind: str, target: str
) -> None:
    called = []

    async def one(request: Any, _context: Any) -> Any:
        called.append(request)
        return request

    async def each(requests: Any, _context: Any) -> AsyncIterator[Any]:
        called.append(requests)
        async for request in requests:
            yield request

    async def main() -> None:
        gateway = gateway_to(kind, service=SERVICE, options=Options(), One=one, Each=each)
        async with gateway as runner:
            if target == "/each":
                got = await post(runner, target, b"{}", "text/plain")
                assert got.status == 415
            else:
                got = await get(runner, target)
                assert got.status == 400
            assert "error" in json.loads(got.body)

    run(main())
    assert called == []
