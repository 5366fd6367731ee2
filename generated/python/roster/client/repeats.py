"""Which calls may be sent again when the service was not to be reached, read from the protos.

A call that failed as UNAVAILABLE may have had its effect all the same: the answer was lost.
So a call is repeated where twice is the same as once, in effect and in answer: reads, updates,
and whatever takes an idempotency key. A deletion that is repeated would find nothing, and an
import goes on in a way of its own.
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

# Attempts come about 0.5, 1.5, 3.5 and 6 seconds after the first: the last one after longer than
# a start takes, and each so close to the one before that a caller waits little once the service
# is back. gRPC makes no more than five.
RETRY = {
    "maxAttempts": 5,
    "initialBackoff": "0.5s",
    "backoffMultiplier": 2,
    "maxBackoff": "2.5s",
    "retryableStatusCodes": ["UNAVAILABLE"],
}
# Calls are no more repeated once 50 more have failed than a tenth of those that were answered:
# a service that has gone down is not held down.
THROTTLING = {"maxTokens": 100, "tokenRatio": 0.1}


@cache
def service_config() -> str:
    """Returns how gRPC is told of all this, as JSON."""
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
    """Whether an rpc takes an idempotency key: a POST over HTTP with an effect, and no stream."""
    return _verb(method) == "post" and not method.client_streaming and not _only_reads(method)


def is_repeatable(method: MethodDescriptor) -> bool:
    """Whether an rpc that is called twice has the effect and the answer of one call."""
    return _verb(method) in ("get", "put") or _only_reads(method) or takes_key(method)


def _verb(method: MethodDescriptor) -> str | None:
    verb: str | None = method.GetOptions().Extensions[annotations_pb2.http].WhichOneof("pattern")
    return verb


def _only_reads(method: MethodDescriptor) -> bool:
    options = method.GetOptions()
    return options.idempotency_level == options.NO_SIDE_EFFECTS
