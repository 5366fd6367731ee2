"""Authenticates a call: resolves the API key in its metadata to an account.

A key with a valid checksum is looked up by its hash. The result is cached for at most five
seconds, so a key that another process revokes stops working here within that time; a key that
this process revokes stops working immediately. A lookup also adds the key to those whose use is
to be stored, so no result is cached beyond the end of the day. An unknown, a revoked and an
expired key have the same error. A text that is no key has another one, which the client could
compute itself.

A public rpc has no key: a token in the request authorizes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...features.accounts import store_keys
from ...features.accounts.key_uses import KeyUses
from ...features.accounts.rules import SIGNUP, hash_secret, is_well_formed
from ...storage.database import Database
from ...values.actors import Actor, ActorType
from ...values.clock import Clock
from .. import caller
from ..caller import Caller
from ..errors import (
    ApiKeyRequired,
    DifferentApiKeys,
    MalformedApiKey,
    SchemeNotSupported,
    Unauthorized,
)
from .auth_throttling import AuthThrottle
from .base import Call, Interceptor

# The metadata with the key in a form, which a gateway read.
FORM_KEY = "x-form-key"
CACHE_MILLISECONDS = 5_000
CACHE_SIZE = 10_000
_DAY_MILLISECONDS = 24 * 3600 * 1000


class CacheEntry(NamedTuple):
    """The caller of a key, when the key expires, and when the entry does."""

    caller: Caller
    expires_at: int | None
    until: int


class Authenticate(Interceptor):
    """Sets the caller of a call.

    Raises Unauthorized, or TooManyInvalidKeys if the client's address failed too often.
    """

    def __init__(
        self, database: Database, clock: Clock, auth_throttle: AuthThrottle, key_uses: KeyUses
    ) -> None:
        self._database = database
        self._auth_throttle = auth_throttle
        self._key_uses = key_uses
        self._clock = clock
        self._invalidations = 0
        # By the hash of the key.
        self._cache: dict[str, CacheEntry] = {}

    def invalidate(self, key_id: str) -> None:
        """Removes a key from the cache."""
        self._invalidations += 1
        for secret_hash, entry in list(self._cache.items()):
            if entry.caller.actor.id == key_id:
                del self._cache[secret_hash]

    async def intercept(self, call: Call) -> None:
        if call.method.is_public:
            # An earlier call in this task may have set an account.
            caller.enter_account(None)
            return
        try:
            secret = api_key(call.metadata)
            now, secret_hash = self._clock(), hash_secret(secret)
            entry = self._cache.get(secret_hash)
            # The upper limit matters if the clock was set back.
            if entry is None or not now < entry.until <= now + CACHE_MILLISECONDS:
                if not is_well_formed(secret):
                    raise MalformedApiKey
                if entry is None:
                    self._auth_throttle.check(call)
                entry = await self._look_up(secret_hash, now)
            if entry.expires_at is not None and entry.expires_at <= now:
                raise Unauthorized
        except Unauthorized as error:
            raise self._auth_throttle.record_failure(call, error) from None
        caller.enter(entry.caller)
        call.caller = entry.caller
        if entry.caller.scope == SIGNUP:
            # Web pages contain these keys. They must not use up the calls of the account.
            call.rate_limit_key = entry.caller.actor.id
        call.account_id = entry.caller.account_id

    async def _look_up(self, secret_hash: str, now: int) -> CacheEntry:
        invalidations = self._invalidations
        # An earlier call in this task may have set another account.
        caller.enter_account(None)
        identity = await self._database.read(
            lambda tx: store_keys.identify_any_account(secret_hash, tx)
        )
        if identity is None:
            self._cache.pop(secret_hash, None)
            raise Unauthorized
        identified = Caller(
            identity.account_id,
            Actor(ActorType.API_KEY, identity.key_id, identity.name),
            identity.scope,
            bool(identity.email_verified),
        )
        day = now - now % _DAY_MILLISECONDS
        until = min(now + CACHE_MILLISECONDS, day + _DAY_MILLISECONDS)
        entry = CacheEntry(identified, identity.expires_at, until)
        is_usable = identity.expires_at is None or identity.expires_at > now
        if is_usable and (identity.last_used_at or 0) < day:
            self._key_uses.add(identity.account_id, identity.key_id, day)
        if len(self._cache) >= CACHE_SIZE:
            self._cache.clear()
        # If a key was revoked during the read, the result may be out of date.
        if invalidations == self._invalidations:
            self._cache[secret_hash] = entry
        return entry


def api_key(metadata: Any) -> str:
    """Returns the key in `authorization: Bearer <key>`, `x-api-key: <key>` or a form.

    Raises Unauthorized if there is none, or if there are different ones.
    """
    found: str | None = None
    for name, value in metadata:
        key = str(value)
        if name == "authorization":
            scheme, _, key = key.partition(" ")
            if scheme and scheme.lower() != "bearer":
                raise SchemeNotSupported
        elif name not in ("x-api-key", FORM_KEY):
            continue
        key = key.strip()
        if found is not None and key != found:
            raise DifferentApiKeys
        found = key
    if not found:
        raise ApiKeyRequired
    return found
