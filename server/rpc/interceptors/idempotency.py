"""Gives a request with an idempotency key at most one effect.

Every POST that the proto does not declare idempotent, and an update that can create the resource,
accepts `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header), except imports, which can be
repeated with on_conflict SKIP. When the first request succeeds, its response is stored for 24 hours
per account, in the transaction of the write. The same request with the same key then returns that
response, marked by `idempotency-replayed`. It fails with

- IDEMPOTENCY_KEY_REUSED if the key belongs to a different request,
- IDEMPOTENCY_KEY_IN_USE while the first request runs,
- IDEMPOTENT_RESPONSE_ERASED if the data of a person in the response was erased meanwhile.

A rejected request changes and stores nothing, so its key can be used again.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

from ...features.accounts.rules import SIGNUP
from .. import caller
from ..errors import invalid
from ..idempotency.idempotent_database import IdempotentDatabase, Request
from .base import Call, Interceptor, Method, add_trailing_metadata

IDEMPOTENCY_KEY = "idempotency-key"
REPLAYED = ("idempotency-replayed", "true")
MAX_LENGTH = 255


class Idempotency(Interceptor):
    """Runs last: it compares requests that are trimmed and valid."""

    def __init__(self, database: IdempotentDatabase) -> None:
        self._database = database

    def applies_to(self, method: Method) -> bool:
        return method.stored_response_type is not None

    def intercept(self, call: Call) -> None:
        key, response_type = idempotency_key(call.metadata), call.method.stored_response_type
        if key is None or response_type is None:
            return
        message = call.request
        if caller.current().scope == SIGNUP:
            # Web pages contain keys of this scope. They must not use, or find out, other keys, nor
            # that a person was erased. Their responses are empty.
            key, message = f"{caller.current().actor.id} {key}", None
        request = Request(
            call.account_id, key, _fingerprint(call), response_type.FromString, message
        )
        self._database.enter(request)
        call.done_callbacks.append(partial(self._leave, request))

    def _leave(self, request: Request, call: Call) -> None:
        self._database.leave(request)
        if request.replayed:
            add_trailing_metadata(call.context, REPLAYED)


def idempotency_key(metadata: Any) -> str | None:
    """Returns the idempotency key of a call, or None.

    Raises ValidationError if there are several, or if it is blank or too long.
    """
    keys = [str(value) for name, value in metadata if name == IDEMPOTENCY_KEY]
    if not keys:
        return None
    key = keys[0].strip()
    if len(keys) > 1 or not 0 < len(key) <= MAX_LENGTH:
        raise invalid(
            "Idempotency-Key",
            "INVALID_FORMAT",
            f"must have 1 to {MAX_LENGTH} characters and be sent once",
        )
    return key


def _fingerprint(call: Call) -> str:
    """Returns a hash that is equal for equal requests, however their JSON was written."""
    data = call.request.SerializeToString(deterministic=True)
    return hashlib.sha256(f"{call.method.name}\n".encode() + data).hexdigest()
