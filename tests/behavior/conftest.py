"""Spreads the cases of large tables over the fronts.

`one_front_per_case` is for rules that are checked above the database, such as validation. Each
case runs over one front, in turn, so that each front and each database has a part of the table.

`each_database_per_case` is for rules that depend on the database. Each case runs on PostgreSQL,
and on SQLite over one of its two fronts, in turn.
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
    # The sum lets every value of each table meet every front.
    case = sum(_index(item, names, cases) for names, cases in tables.items())
    return bool(front == fronts[case % len(fronts)])


def _index(item: pytest.Function, names: str | tuple[str, ...], cases: Any) -> int:
    """Returns the index of an item's case in a table."""
    names = (names,) if isinstance(names, str) else names
    current = [item.callspec.params[name] for name in names]
    for index, case in enumerate(cases):
        single = (case,) if len(names) == 1 else case
        values = case.values if isinstance(case, ParameterSet) else single
        if all(one is other for one, other in zip(current, values, strict=True)):
            return index
    raise ValueError(f"no case of {item.nodeid} in {names}")
