"""Idempotency keys: a request that is sent again has no second effect.

`Idempotency-Key` is taken by every operation that is a POST over HTTP and has an
effect (draft-ietf-httpapi-idempotency-key-header); an import is repeated with
on_conflict SKIP instead. When the first request succeeds, its response is stored for
24 hours per account, in the transaction of the write. The same key and request then
return that response, marked by `idempotency-replayed`; the key with another request is
IDEMPOTENCY_KEY_REUSED, and while the first request runs, IDEMPOTENCY_KEY_IN_USE. A
request that is rejected changes nothing and stores nothing: its key is free again.
"""

from __future__ import annotations

import hashlib
from typing import Any

from google.protobuf.message import Message

from .. import caller
from ..errors import invalid
from ..idempotency.idempotent_database import IdempotentDatabase, Request
from ..messages import Context
from .base import Interceptor, Method, Proceed, add_trailing_metadata

IDEMPOTENCY_KEY = "idempotency-key"
REPLAYED = ("idempotency-replayed", "true")
MAX_LENGTH = 255


class Idempotency(Interceptor):
    """The innermost interceptor: it tells requests apart once blanks are off and bounds kept."""

    def __init__(self, database: IdempotentDatabase) -> None:
        super().__init__()
        self._database = database

    def _wrap(self, method: Method, handler: Any) -> Any:
        return handler if method.has_stored_response is None else super()._wrap(method, handler)

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        key = presented(context)
        if key is None or method.has_stored_response is None:
            return await proceed(request, context)
        sent = Request(
            caller.account_id(),
            key,
            _fingerprint(method, request),
            method.has_stored_response.FromString,
        )
        with self._database.request(sent):
            reply = await proceed(request, context)
        if sent.replayed:
            add_trailing_metadata(context, REPLAYED)
        return reply


def presented(context: Context) -> str | None:
    """Returns the idempotency key that came with the call, or None.

    Raises ValidationError if more than one came, or one that is blank or too long.
    """
    keys = [
        str(value) for name, value in context.invocation_metadata() or () if name == IDEMPOTENCY_KEY
    ]
    if not keys:
        return None
    key = keys[0].strip()
    if len(keys) > 1 or not 0 < len(key) <= MAX_LENGTH:
        raise invalid(
            "Idempotency-Key", "INVALID_FORMAT", f"must be one text of 1 to {MAX_LENGTH} characters"
        )
    return key


def _fingerprint(method: Method, request: Message) -> str:
    """Returns what tells a request from others, whatever its JSON looked like."""
    data = request.SerializeToString(deterministic=True)
    return hashlib.sha256(f"{method.name}\n".encode() + data).hexdigest()
