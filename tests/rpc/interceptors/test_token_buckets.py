"""Tests the token buckets of rate limits."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from rosterd.server.config import Rate
from rosterd.server.rpc.interceptors.token_buckets import NANOSECONDS, TokenBuckets

from .clock import Clock

RATES = [Rate(1, 1), Rate(3, 7), Rate(100, 1), Rate(7, 86_400)]
at_every_rate = pytest.mark.parametrize(
    "rate", RATES, ids=lambda rate: f"{rate.calls}/{rate.seconds}"
)


def buckets_of(rate: Rate, max_keys: int | None = None) -> tuple[TokenBuckets, Clock]:
    clock = Clock()
    return TokenBuckets(rate, clock, max_keys), clock


@at_every_rate
def test_buckets_agree_with_exact_arithmetic(rate: Rate) -> None:
    buckets, clock = buckets_of(rate)
    tokens, last = dict.fromkeys("abc", Fraction(rate.calls)), dict.fromkeys("abc", clock.now)
    dice = random.Random(11)

    for _ in range(3_000):
        gap = 2 * rate.seconds if dice.random() < 0.01 else rate.seconds / rate.calls / 2
        clock.sleep(gap * dice.random())
        name = dice.choice("aab" if dice.random() < 0.9 else "c")
        refilled = Fraction(clock.now - last[name], NANOSECONDS) * rate.calls / rate.seconds
        tokens[name], last[name] = min(tokens[name] + refilled, Fraction(rate.calls)), clock.now
        allowed = tokens[name] >= 1
        tokens[name] -= allowed

        decision = buckets.take(name)

        assert (decision.allowed, decision.remaining) == (allowed, int(tokens[name]))


@at_every_rate
def test_wait_after_a_rejection_suffices_and_is_rounded_up_by_less_than_a_second(
    rate: Rate,
) -> None:
    buckets, clock = buckets_of(rate)
    for _ in range(rate.calls):
        buckets.take("ada")

    decision = buckets.take("ada")

    assert not decision.allowed
    assert decision.seconds == buckets.seconds_until_token("ada")
    clock.sleep(decision.seconds - 1)
    assert not buckets.take("ada").allowed
    clock.sleep(1)
    assert buckets.seconds_until_token("ada") == 0
    assert buckets.take("ada").allowed


def test_full_buckets_are_removed() -> None:
    buckets, clock = buckets_of(Rate(10, 60))
    most = 0

    for number in range(10_000):
        clock.sleep(1)
        buckets.take(f"account {number}")
        most = max(most, len(buckets))

    assert most <= 60 / 10 + 1


def test_keys_beyond_the_maximum_share_a_bucket_and_others_keep_theirs() -> None:
    buckets, clock = buckets_of(Rate(2, 60), max_keys=2)

    taken = [buckets.take(key).allowed for key in "abcde"]

    assert taken == [True, True, True, True, False]
    assert [buckets.take("a").allowed for _ in range(2)] == [True, False]
    clock.sleep(120)
    assert all(buckets.take(key).allowed for key in "cccd")
