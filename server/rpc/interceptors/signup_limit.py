"""Limits sign-ups with keys that web pages contain, per client address and per key."""

from __future__ import annotations

import time

from ...config import Rate
from ...features.accounts.rules import SIGNUP
from .. import caller
from ..errors import TooManySignups
from .base import Call, Interceptor, Method
from .client_address import AddressBuckets
from .rate_limit import MonotonicClock, TokenBuckets

# The limit of a key as a multiple of that of an address, as the help of the setting states.
KEY_LIMIT_FACTOR = 50


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
            decision = self._keys.take(caller.current().key_id)
        if not decision.allowed:
            raise TooManySignups(decision.seconds)
