"""Distributes the cases of parametrized tests over the fronts and databases.

`one_front_per_case` is for rules that do not depend on the database, such as validation. Cases run
alternately over the fronts, so that every front and database runs some of them.

`each_database_per_case` is for rules that depend on the database. Each case runs on PostgreSQL, and
on SQLite over alternating fronts.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import FRONTS

FRONT = "front_and_service"
ON_POSTGRES = "http-over-grpc"
ParameterSet = type(pytest.param())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    deselected = [item for item in items if not _is_selected(item)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if _is_selected(item)]


def _is_selected(item: pytest.Item) -> bool:
    over_all = item.get_closest_marker("one_front_per_case")
    over_sqlite = item.get_closest_marker("each_database_per_case")
    if not (over_all or over_sqlite):
        return True
    assert isinstance(item, pytest.Function)
    tables = {mark.args[0]: mark.args[1] for mark in item.iter_markers("parametrize")}
    fronts = list(tables.pop(FRONT, FRONTS))
    front = item.callspec.params[FRONT]
    if over_sqlite:
        if front == ON_POSTGRES:
            return True
        fronts.remove(ON_POSTGRES)
    # The sum combines every value of each parameter with every front.
    case = sum(_index(item, names, cases) for names, cases in tables.items())
    return bool(front == fronts[case % len(fronts)])


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
