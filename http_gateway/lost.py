"""Calls whose answer was lost: may their effect be there all the same?

A server that refuses a call as UNAVAILABLE says why, and promises that nothing was
changed. Where the connection broke, nobody has promised that: so a call that could have
changed something is not told to be without effect, unless it was never sent. Of a call
that is repeated, only the last attempt tells how it failed; the first may have been sent.
"""

from __future__ import annotations

from functools import cache

from google.api import annotations_pb2
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import MethodDescriptor
from google.rpc import error_details_pb2
from grpc import StatusCode
from grpc.aio import AioRpcError
from grpc_status import rpc_status
from roster.client import repeats

from .faults import RequestFault, fault
from .headers import IDEMPOTENCY_KEY, Metadata

# How gRPC begins to tell that there was no connection for a call. Were the words to change,
# a call that was not sent would be told that nobody knows: less than is known, but true.
_NEVER_SENT = (
    "connections to all backends failing",
    "failed to connect to all addresses",
    "DNS resolution failed",
)
_UNKNOWN = (
    "The connection to the service was lost, and nobody knows whether this was done."
    " With an Idempotency-Key it can be sent again to find out."
)


def outcome_of(failed: AioRpcError, rpc: str, metadata: Metadata) -> AioRpcError | RequestFault:
    """Returns what a failed call of an rpc is to be told, which was made with this metadata."""
    if failed.code() is not StatusCode.UNAVAILABLE or not has_effect(rpc) or _has_reason(failed):
        return failed
    was_sent = not (failed.details() or "").startswith(_NEVER_SENT)
    if was_sent or _is_repeated(rpc, metadata):
        return fault("INTERNAL", _UNKNOWN)
    return failed


def _has_reason(failed: AioRpcError) -> bool:
    """Whether the server itself has said why."""
    status = rpc_status.from_call(failed)  # type: ignore[arg-type]
    info = error_details_pb2.ErrorInfo.DESCRIPTOR
    return status is not None and any(packed.Is(info) for packed in status.details)


def _is_repeated(rpc: str, metadata: Metadata) -> bool:
    """Whether a call may have been sent more than once."""
    has_key = any(name == IDEMPOTENCY_KEY for name, _ in metadata)
    method = _method(rpc)
    return repeats.is_repeatable(method) and (has_key or not repeats.takes_key(method))


@cache
def has_effect(rpc: str) -> bool:
    """Whether an rpc, by its path, changes something."""
    method = _method(rpc)
    options = method.GetOptions()
    if options.idempotency_level == options.NO_SIDE_EFFECTS:
        return False
    return bool(options.Extensions[annotations_pb2.http].WhichOneof("pattern") != "get")


def _method(rpc: str) -> MethodDescriptor:
    service, _, name = rpc[1:].partition("/")
    return descriptor_pool.Default().FindServiceByName(service).methods_by_name[name]
