"""Spreads the cases of large tables over the fronts.

`one_front_per_case` is for rules that are checked above the database, such as validation. Each
case runs over one front, in turn, so that each front and each database has a part of the table.

`each_database_per_case` is for rules that depend on the database. Each case runs on PostgreSQL,
and on SQLite over one of its two fronts, in turn.
"""

from __future__ import annotations

import pytest

from ..conftest import FRONTS

ON_POSTGRES = "http-over-grpc"


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
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    fronts = [name for name in FRONTS if name != "grpc" or "front_and_service" not in marks]
    front = item.callspec.params["front_and_service"]
    if over_sqlite:
        if front == ON_POSTGRES:
            return True
        fronts.remove(ON_POSTGRES)
    return bool(front == fronts[_case(item, marks) % len(fronts)])


def _case(item: pytest.Function, marks: list[str | tuple[str, ...]]) -> int:
    """Returns the sum of the indexes in all tables: every value of each meets every front."""
    names = [mark.split(",")[0] if isinstance(mark, str) else mark[0] for mark in marks]
    return sum(item.callspec.indices[name] for name in names if name != "front_and_service")
