"""Limits failed authentication attempts per client address.

A key cannot be guessed, but each attempt costs a database query. So each address has a token
bucket, and every call that fails to authenticate takes a token. While the bucket is empty,
unknown keys from the address are not looked up. Keys in the cache of Authenticate still work, so
that one client cannot block others behind the same address.
"""

from __future__ import annotations

import time

from ...config import Rate
from ..errors import TooManyInvalidKeys, Unauthorized
from .client_address import MAX_ADDRESSES, AddressBuckets
from .token_buckets import MonotonicClock

# Failed attempts per address.
RATE = Rate(300, 60)


class AuthThrottle:
    """The token buckets of all addresses."""

    def __init__(
        self,
        rate: Rate = RATE,
        clock: MonotonicClock = time.monotonic_ns,
        max_addresses: int = MAX_ADDRESSES,
    ) -> None:
        self._buckets = AddressBuckets(rate, clock, max_addresses)

    def check(self, address: str) -> None:
        """Raises TooManyInvalidKeys if the bucket of a client address is empty."""
        seconds = self._buckets.seconds_until_token(address)
        if seconds:
            raise TooManyInvalidKeys(seconds)

    def record_failure(
        self, address: str, error: Unauthorized
    ) -> Unauthorized | TooManyInvalidKeys:
        """Takes a token for a call that failed to authenticate, and returns the error to report."""
        decision = self._buckets.take(address)
        return error if decision.allowed else TooManyInvalidKeys(decision.seconds)
