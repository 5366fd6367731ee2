"""Limits the calls of an account, and sign-ups with keys that web pages contain.

Limits are token buckets in the memory of the process. Every call takes a token, even if it fails
later. Each response reports the state of the account's bucket, as in the draft
draft-ietf-httpapi-ratelimit-headers:

    ratelimit-policy: "default";q=100;w=1     100 calls per second, and bursts of up to 100
    ratelimit: "default";r=40;t=1             40 calls left; the next token comes in t seconds

`t` is rounded up to whole seconds. A client that makes at most `r` calls, or waits `t` seconds
if `r` is 0, is not rejected.
"""

from __future__ import annotations

import time

from ...config import Rate
from ...features.accounts.rules import SIGNUP
from .. import caller
from ..errors import RateLimited, TooManySignups
from .base import Call, Interceptor, Method, add_trailing_metadata
from .client_address import AddressBuckets
from .token_buckets import MonotonicClock, TokenBuckets

# A key may make this many times the sign-ups of an address, as the setting's help states.
KEY_LIMIT_FACTOR = 50


class RateLimit(Interceptor):
    """Raises RateLimited for a call beyond the account's limit. Runs after Authenticate.

    The state of the bucket goes into the trailing metadata. A stream sends it at its start,
    because the client's next calls do not wait for the end of the stream.
    """

    def __init__(self, rate: Rate, clock: MonotonicClock = time.monotonic_ns) -> None:
        self._buckets = TokenBuckets(rate, clock)
        self._policy = ("ratelimit-policy", f'"default";q={rate.calls};w={rate.seconds}')

    def applies_to(self, method: Method) -> bool:
        return not method.is_public

    def intercept(self, call: Call) -> None:
        decision = self._buckets.take(call.rate_limit_key or call.account_id)
        limit = ("ratelimit", f'"default";r={decision.remaining};t={decision.seconds}')
        add_trailing_metadata(call.context, self._policy, limit)
        if not decision.allowed:
            raise RateLimited(decision.seconds)


class SignupLimit(Interceptor):
    """Raises TooManySignups. Runs after Authenticate."""

    def __init__(self, rate: Rate, clock: MonotonicClock = time.monotonic_ns) -> None:
        self._addresses = AddressBuckets(rate, clock)
        self._keys = TokenBuckets(Rate(rate.calls * KEY_LIMIT_FACTOR, rate.seconds), clock)

    def applies_to(self, method: Method) -> bool:
        return method.scope == SIGNUP

    def intercept(self, _call: Call) -> None:
        if caller.current().scope != SIGNUP:
            return
        # A sign-up that its address may not make takes nothing from the key.
        decision = self._addresses.take(caller.client_address())
        if decision.allowed:
            decision = self._keys.take(caller.current().actor.id)
        if not decision.allowed:
            raise TooManySignups(decision.seconds)
