"""Derives the retry policy from the protos: which calls are retried if the server is unreachable.

A call that failed with UNAVAILABLE can have taken effect, with only its response lost. Therefore
only calls with the same effect and response when repeated are retried: reads, updates, and calls
with an idempotency key. A repeated deletion would fail with NOT_FOUND. Imports have their own
way to resume.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import cache

from google.api import annotations_pb2  # type: ignore[import-untyped]
from google.protobuf.descriptor import MethodDescriptor

from .. import v1
from ..v1 import http_pb2

# Retries follow about 0.5, 1.5, 3.5 and 6 seconds after the first attempt. The last one is later
# than a server restart takes; the short intervals keep the wait after a restart short. gRPC
# allows at most five attempts.
RETRY = {
    "maxAttempts": 5,
    "initialBackoff": "0.5s",
    "backoffMultiplier": 2,
    "maxBackoff": "2.5s",
    "retryableStatusCodes": ["UNAVAILABLE"],
}
# Retries stop after 50 more failures than a tenth of the successful calls, so that retries do not
# overload a recovering server.
THROTTLING = {"maxTokens": 100, "tokenRatio": 0.1}


@cache
def service_config() -> str:
    """Returns the gRPC service config as JSON."""
    names = [
        {"service": method.containing_service.full_name, "method": method.name}
        for method in methods()
        if is_repeatable(method)
    ]
    return json.dumps(
        {
            "loadBalancingConfig": [{"round_robin": {}}],
            "methodConfig": [{"name": names, "retryPolicy": RETRY}],
            "retryThrottling": THROTTLING,
        }
    )


@cache
def keyed() -> frozenset[str]:
    """Returns the paths, such as /roster.v1.TagService/CreateTag, that take idempotency keys."""
    return frozenset(
        f"/{method.containing_service.full_name}/{method.name}"
        for method in methods()
        if takes_key(method)
    )


def methods() -> Iterator[MethodDescriptor]:
    """Returns every rpc of roster.v1."""
    for module in pkgutil.iter_modules(v1.__path__, f"{v1.__name__}."):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(module.name).DESCRIPTOR
            for service in file.services_by_name.values():
                yield from service.methods


def takes_key(method: MethodDescriptor) -> bool:
    """Whether an rpc takes an idempotency key.

    Those are POSTs that are neither streamed nor idempotent, and need an API key.
    """
    is_public = method.GetOptions().Extensions[http_pb2.access].public
    return (
        _verb(method) == "post"
        and not is_public
        and not method.client_streaming
        and not _is_idempotent(method)
    )


def is_repeatable(method: MethodDescriptor) -> bool:
    """Whether a repeated call has the same effect and response as one call."""
    return _verb(method) in ("get", "put") or _is_idempotent(method) or takes_key(method)


def _verb(method: MethodDescriptor) -> str | None:
    verb: str | None = method.GetOptions().Extensions[annotations_pb2.http].WhichOneof("pattern")
    return verb


def _is_idempotent(method: MethodDescriptor) -> bool:
    """Whether the proto declares that the rpc is idempotent, or has no side effects."""
    options = method.GetOptions()
    return options.idempotency_level != options.IDEMPOTENCY_UNKNOWN
