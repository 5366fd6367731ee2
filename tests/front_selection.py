"""Selects the fronts and databases that each test runs over.

`make test` runs each test that uses the fixture `account` on PostgreSQL, and on SQLite over one of
its two fronts, alternately. The test over the other front has the marker `verify`.

`one_front_per_case` is for rules that do not depend on the database, such as validation. Each case
runs over one front only, alternately, so that every front and database runs some of them.

`each_database_per_case` is for large tables of rules that depend on the database. The cases do not
run over the other front on SQLite at all.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import pytest

FRONTS = ("grpc", "http", "http-over-grpc")
FRONT = "front_and_service"
ON_POSTGRES = "http-over-grpc"
ParameterSet = type(pytest.param())


@pytest.hookimpl(tryfirst=True)  # before tests are selected by marker
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    selected, deselected = [], []
    for item in items:
        if _front_in_make_test(item):
            selected.append(item)
        elif any(map(item.get_closest_marker, ("one_front_per_case", "each_database_per_case"))):
            deselected.append(item)
        else:
            item.add_marker(pytest.mark.verify)
            selected.append(item)
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = selected


def _front_in_make_test(item: pytest.Item) -> bool:
    """Whether `make test` runs a test, which may be parametrized over fronts."""
    if not isinstance(item, pytest.Function) or FRONT not in item.fixturenames:
        return True
    tables = {mark.args[0]: mark.args[1] for mark in item.iter_markers("parametrize")}
    fronts = list(tables.pop(FRONT, FRONTS))
    front = item.callspec.params[FRONT]
    if item.get_closest_marker("one_front_per_case") is None:
        if front == ON_POSTGRES:
            return True
        fronts = [front for front in fronts if front != ON_POSTGRES]
    # The sum combines every value of each parameter with every front.
    case = sum(_index(item, names, cases) for names, cases in tables.items())
    return bool(front == fronts[(case + crc32(item.originalname.encode())) % len(fronts)])


def _index(item: pytest.Function, names: str | tuple[str, ...], cases: Any) -> int:
    """Returns the index of a test case in its parametrization."""
    names = (names,) if isinstance(names, str) else names
    current = [item.callspec.params[name] for name in names]
    for index, case in enumerate(cases):
        single = (case,) if len(names) == 1 else case
        values = case.values if isinstance(case, ParameterSet) else single
        if all(one is other for one, other in zip(current, values, strict=True)):
            return index
    raise ValueError(f"no case of {item.nodeid} in {names}")
