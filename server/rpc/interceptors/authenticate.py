"""Authenticates a call: resolves the API key or session in its metadata to an account.

A key with a valid checksum is looked up by its hash. The result is cached for at most five
seconds, so a key that another process revokes stops working here within that time; a key that
this process revokes stops working immediately. A lookup also adds the key to those whose use is
to be stored, so no result is cached beyond the end of the day. An unknown, a revoked and an
expired key have the same error. A text that is no key has another one, which the client could
compute itself.

The token of a session is looked up, cached and removed likewise. It is ignored if the call has a
key, because browsers add cookies to requests of programs too.

A public rpc has no key: a token in the request authorizes it.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ...features.accounts import store_keys
from ...features.accounts.rules import SIGNUP, hash_secret, is_well_formed
from ...features.accounts.uses import Uses
from ...features.sessions import store as sessions
from ...features.sessions.rules import account_of, is_use_due
from ...features.sessions.store import SessionRow
from ...storage.database import Database
from ...values.actors import Actor, ActorType
from ...values.clock import Clock
from .. import caller
from ..caller import Caller
from ..errors import (
    ApiKeyRequired,
    DifferentApiKeys,
    DifferentSessions,
    MalformedApiKey,
    SchemeNotSupported,
    SessionEnded,
    Unauthorized,
)
from .auth_throttling import AuthThrottle
from .base import Call, Interceptor

# The metadata with the key in a form, which a gateway read.
FORM_KEY = "x-form-key"
# The metadata with the token of a session, which a gateway read from a cookie.
SESSION = "session"
CACHE_MILLISECONDS = 5_000
CACHE_SIZE = 10_000
_DAY_MILLISECONDS = 24 * 3600 * 1000


class CacheEntry(NamedTuple):
    """The caller of a key or session, when it expires, and when the entry does.

    `api_key_id` is the key that a session began with; empty for a link.
    """

    caller: Caller
    expires_at: int | None
    until: int
    api_key_id: str = ""


class Authenticate(Interceptor):
    """Sets the caller of a call.

    Raises Unauthorized, or TooManyInvalidKeys if the client's address failed too often.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        auth_throttle: AuthThrottle,
        key_uses: Uses,
        session_uses: Uses,
    ) -> None:
        self._database = database
        self._auth_throttle = auth_throttle
        self._key_uses, self._session_uses = key_uses, session_uses
        self._clock = clock
        self._invalidations = 0
        # By the hash of the key or token. A token that is sent as a key must not be found.
        self._keys: dict[str, CacheEntry] = {}
        self._sessions: dict[str, CacheEntry] = {}

    def invalidate(self, *ids: str) -> None:
        """Removes keys with their sessions, and sessions, from the cache."""
        self._invalidations += 1
        for cache in (self._keys, self._sessions):
            for secret_hash, entry in list(cache.items()):
                if entry.caller.actor.id in ids or entry.api_key_id in ids:
                    del cache[secret_hash]

    async def intercept(self, call: Call) -> None:
        if call.method.is_public:
            # An earlier call in this task may have set an account.
            caller.enter_account(None)
            return
        try:
            secret, cache, look_up = api_key(call.metadata), self._keys, self._look_up
            if not secret:
                secret, cache = session_token(call.metadata), self._sessions
                look_up = self._look_up_session
            now, secret_hash = self._clock(), hash_secret(secret)
            entry = cache.get(secret_hash)
            # The upper limit matters if the clock was set back.
            if entry is None or not now < entry.until <= now + CACHE_MILLISECONDS:
                if entry is None:
                    self._auth_throttle.check(call.client_address)
                invalidations = self._invalidations
                entry = await look_up(secret, secret_hash, now)
                if len(cache) >= CACHE_SIZE:
                    cache.clear()
                # If a key was revoked during the read, the result may be out of date.
                if invalidations == self._invalidations:
                    cache[secret_hash] = entry
            if entry.expires_at is not None and entry.expires_at <= now:
                raise Unauthorized
        except Unauthorized as error:
            raise self._auth_throttle.record_failure(call.client_address, error) from None
        caller.enter(entry.caller)
        call.caller = entry.caller
        if entry.caller.scope == SIGNUP:
            # Web pages contain these keys. They must not use up the calls of the account.
            call.rate_limit_key = entry.caller.actor.id
        call.account_id = entry.caller.account_id

    async def _look_up(self, key: str, secret_hash: str, now: int, /) -> CacheEntry:
        if not is_well_formed(key):
            raise MalformedApiKey
        # An earlier call in this task may have set another account.
        caller.enter_account(None)
        identity = await self._database.read(
            lambda tx: store_keys.identify_any_account(secret_hash, tx)
        )
        if identity is None:
            self._keys.pop(secret_hash, None)
            raise Unauthorized
        identified = Caller(
            identity.account_id,
            Actor(ActorType.API_KEY, identity.key_id, identity.name),
            identity.scope,
            bool(identity.email_verified),
        )
        day = now - now % _DAY_MILLISECONDS
        until = min(now + CACHE_MILLISECONDS, day + _DAY_MILLISECONDS)
        is_usable = identity.expires_at is None or identity.expires_at > now
        if is_usable and (identity.last_used_at or 0) < day:
            self._key_uses.add(identity.account_id, identity.key_id, day)
        return CacheEntry(identified, identity.expires_at, until)

    async def _look_up_session(self, token: str, token_hash: str, now: int, /) -> CacheEntry:
        account_id = account_of(token)
        if account_id is None:
            raise SessionEnded
        caller.enter_account(account_id)
        read = partial(sessions.identify, account_id, token_hash)
        found = await self._database.read(read)
        if found is None:
            self._sessions.pop(token_hash, None)
            raise SessionEnded
        row, email_verified = found
        if is_use_due(row.last_used_at, now):
            self._session_uses.add(account_id, row.id, now)
        until = min(now + CACHE_MILLISECONDS, row.expires_at)
        identified = _caller_of(account_id, row, email_verified=email_verified)
        return CacheEntry(identified, None, until, row.api_key_id or "")


def _caller_of(account_id: str, session: SessionRow, *, email_verified: bool) -> Caller:
    actor = Actor(ActorType.SESSION, session.id, session.name)
    return Caller(account_id, actor, session.scope, email_verified)


def api_key(metadata: Any) -> str:
    """Returns the key in `authorization: Bearer <key>`, `x-api-key: <key>` or a form.

    Returns an empty text if there is none. Raises Unauthorized if there are different ones.
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
    return found or ""


def session_token(metadata: Any) -> str:
    """Returns the token of a session. Raises Unauthorized if there is none, or different ones."""
    tokens = {str(value) for name, value in metadata if name == SESSION}
    if len(tokens) > 1:
        raise DifferentSessions
    if not tokens:
        raise ApiKeyRequired
    return tokens.pop()
