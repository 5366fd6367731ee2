"""Each promise of `make faults` with few repetitions."""

from __future__ import annotations

import pytest

from ..documents import TESTS, table
from .promises.table import PROMISES

# Repetitions in `make test`, and in `make verify`. Others need an idle machine, or have tests of
# their own.
REPETITIONS = {"P1 kill -9": 2, "P2 power cuts": 4, "P2 failing disk": 2}
MORE_REPETITIONS = {
    "P2 checkpoints": 2,
    "P3 deliveries": 2,
    "P3 on PostgreSQL": 2,
    "P9 consent": 40,
    "P11 operations": 4,
    "P11 on PostgreSQL": 4,
    "P11 imports": 4,
    "P11 imports on PostgreSQL": 2,
    "P11 exports": 2,
    "P11 exports on PostgreSQL": 4,
    "P13 versions": 3,
}


@pytest.mark.parametrize(
    ("name", "repetitions"),
    [
        *REPETITIONS.items(),
        *(pytest.param(*each, marks=pytest.mark.verify) for each in MORE_REPETITIONS.items()),
    ],
)
def test_promise_is_kept(name: str, repetitions: int) -> None:
    (promise,) = (each for each in PROMISES if each.name == name)

    if missing := promise.needs():
        pytest.skip(missing)
    assert promise.broken(promise.run(repetitions)) == []


def test_documented_promises_match_the_code() -> None:
    rows = table(TESTS, "promise | repetitions | scenario")

    assert [row[:2] for row in rows] == [
        [f"`{promise.name}`", f"{promise.full:,}"] for promise in PROMISES
    ]
