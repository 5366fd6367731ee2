"""Selects the fronts that each test with the fixture `account` runs over in `make test`.

tests/README.md states the rules. What is left out has the marker `verify`.
"""

from __future__ import annotations

from collections import Counter
from zlib import crc32

import pytest

FRONTS = ("grpc", "http", "http-over-grpc")
FRONT = "front_and_service"
ON_POSTGRES = "http-over-grpc"


@pytest.hookimpl(tryfirst=True)  # before tests are selected by marker
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # The number of the cases of each test over each front so far.
    counts: Counter[str] = Counter()
    for item in items:
        if not isinstance(item, pytest.Function) or FRONT not in item.fixturenames:
            continue
        test, front = item.nodeid.partition("[")[0], item.callspec.params[FRONT]
        if front not in _in_make_test(item, counts[f"{test} {front}"]):
            item.add_marker(pytest.mark.verify)
        counts[f"{test} {front}"] += 1


def _in_make_test(item: pytest.Function, case: int) -> list[str]:
    """Returns the fronts of a test or case: one, or one for each database of a single case."""
    fronts = next(
        (list(mark.args[1]) for mark in item.iter_markers("parametrize") if mark.args[0] == FRONT),
        list(FRONTS),
    )
    # Another one for each test and case, so that every front runs a part of each table.
    number = crc32(item.originalname.encode()) + case
    one = item.get_closest_marker("one_database") is not None
    if one or item.get_closest_marker("each_database") is None:
        return [fronts[number % len(fronts)]]
    on_sqlite = [front for front in fronts if front != ON_POSTGRES]
    selected = [on_sqlite[number // 2 % len(on_sqlite)], ON_POSTGRES]
    # Each case of a table on one of the two.
    return selected if len(item.callspec.params) == 1 else [selected[number % 2]]
