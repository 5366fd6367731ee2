"""Limits of sign-ups per client address and per key."""

from __future__ import annotations

from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest

from rosterd.server.config import Rate
from rosterd.server.rpc import caller
from rosterd.server.rpc.caller import Caller
from rosterd.server.rpc.errors import TooManySignups
from rosterd.server.rpc.interceptors.rate_limit import KEY_LIMIT_FACTOR, SignupLimit
from rosterd.server.values.actors import Actor, ActorType

from .clock import Clock

LIMIT = Rate(2, 60)


def call(limit: SignupLimit, address: str, key: str = "a key", scope: str = "signup") -> bool:
    """Makes a call, and returns whether it is within the limits."""
    # The caller of a call must not remain for other tests.
    return copy_context().run(_call, limit, address, key, scope)


def _call(limit: SignupLimit, address: str, key: str, scope: str) -> bool:
    by = Actor(ActorType.API_KEY, key)
    caller.enter(Caller("an account", by, scope, email_verified=True))
    caller.enter_client(address)
    signup: Any = SimpleNamespace(method=SimpleNamespace(scope="signup"))
    try:
        limit.intercept(signup)
    except TooManySignups:
        return False
    return True


def test_each_address_has_a_limit() -> None:
    limit = SignupLimit(LIMIT, Clock())

    assert [call(limit, "192.0.2.1") for _ in range(3)] == [True, True, False]
    assert call(limit, "192.0.2.2")


def test_a_key_has_a_limit_over_all_addresses() -> None:
    limit, calls = SignupLimit(LIMIT, Clock()), LIMIT.calls * KEY_LIMIT_FACTOR

    accepted = [call(limit, f"192.0.2.{number % 250}") for number in range(calls + 1)]

    assert accepted == [True] * calls + [False]
    assert call(limit, "198.51.100.1", key="another key")


def test_rejected_sign_ups_of_an_address_do_not_use_the_limit_of_the_key() -> None:
    limit = SignupLimit(LIMIT, Clock())

    for _ in range(LIMIT.calls * KEY_LIMIT_FACTOR + 1):
        call(limit, "192.0.2.1")

    assert call(limit, "198.51.100.1")


@pytest.mark.parametrize("scope", ["write", "admin"])
def test_internal_callers_have_no_limit(scope: str) -> None:
    limit = SignupLimit(LIMIT, Clock())

    assert all(call(limit, "192.0.2.1", scope=scope) for _ in range(10))
