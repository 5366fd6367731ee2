"""Who is asking: from the key in the metadata to the account.

A key that passes its own checksum is looked up by its hash, and what was found
is kept for at most five seconds, which is how long a key that was revoked by
another process may live on here. This process forgets its own revocations at
once. Whatever is wrong with the credentials, the answer is the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.protobuf.message import Message

from .. import caller
from ..accounts import store
from ..accounts.rules import hash_secret, is_well_formed
from ..caller import Caller
from ..clock import Clock
from ..errors import Unauthorized
from ..messages import Context
from ..storage.database import Database
from .auth_throttling import AuthThrottle
from .base import Interceptor, Method, Proceed, ProceedStream

# How long, in milliseconds, an answer of the database about a key is believed.
CACHE_MILLISECONDS = 5_000
# Keys that are remembered at the same time.
CACHE_SIZE = 10_000


class Authenticate(Interceptor):
    """Resolves the API key of a call to its account.

    Raises Unauthorized, or TooManyFailedAttempts if the address failed too often.
    """

    def __init__(self, database: Database, clock: Clock, auth_throttle: AuthThrottle) -> None:
        super().__init__()
        self._database = database
        self._auth_throttle = auth_throttle
        self._clock = clock
        self._forgotten = 0
        self._known: dict[str, tuple[store.Identity, Caller, int]] = {}

    def forget(self, key_id: str) -> None:
        """Makes the next call with this key ask the database."""
        self._forgotten += 1
        for secret_hash, (identity, _, _) in list(self._known.items()):
            if identity.key_id == key_id:
                del self._known[secret_hash]

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        caller.enter(await self._caller(context))
        return await proceed(request, context)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        caller.enter(await self._caller(context))
        async with aclosing(proceed(request, context)) as replies:
            async for reply in replies:
                yield reply

    async def _caller(self, context: Context) -> Caller:
        try:
            return await self._identify(presented(context), context)
        except Unauthorized:
            raise self._auth_throttle.error_response(context) from None

    async def _identify(self, secret: str, context: Context) -> Caller:
        now, secret_hash = self._clock(), hash_secret(secret)
        identity, known, until = self._known.get(secret_hash, (None, None, 0))
        # A clock that was set back must not stretch what is believed.
        if identity is None or known is None or not now < until <= now + CACHE_MILLISECONDS:
            if not is_well_formed(secret):
                raise Unauthorized
            if identity is None:
                self._auth_throttle.check(context)
            identity, known = await self._look_up(secret_hash, now)
        if identity.expires_at is not None and identity.expires_at <= now:
            raise Unauthorized
        return known

    async def _look_up(self, secret_hash: str, now: int) -> tuple[store.Identity, Caller]:
        forgotten = self._forgotten
        identity = await self._database.read(lambda tx: store.identify_any_account(secret_hash, tx))
        if identity is None:
            self._known.pop(secret_hash, None)
            raise Unauthorized
        found = Caller(
            identity.account_id, identity.key_id, identity.scope, bool(identity.email_verified)
        )
        if len(self._known) >= CACHE_SIZE:
            self._known.clear()
        # What was read before a key was forgotten may be about that key.
        if forgotten == self._forgotten:
            self._known[secret_hash] = (identity, found, now + CACHE_MILLISECONDS)
        return identity, found


def presented(context: Context) -> str:
    """Returns the one key that came with the call.

    `authorization: Bearer <key>` or `x-api-key: <key>`; both may come if they
    agree. Raises Unauthorized if none or different ones came.
    """
    found: str | None = None
    for name, value in context.invocation_metadata() or ():
        if name == "authorization":
            scheme, _, key = str(value).partition(" ")
            key = key.strip() if scheme.lower() == "bearer" else ""
        elif name == "x-api-key":
            key = str(value).strip()
        else:
            continue
        if found is not None and key != found:
            raise Unauthorized
        found = key
    if found is None:
        raise Unauthorized
    return found
