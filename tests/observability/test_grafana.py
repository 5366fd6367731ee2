"""The dashboard, as Grafana's own models read it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grafana_foundation_sdk.models import units

from server.deploy.dashboard import dashboard, written
from server.deploy.panels import ROWS

from .grafana import strange_values, unknown_keys

pytestmark = pytest.mark.verify


def test_grafana_knows_every_key_of_the_dashboard() -> None:
    assert unknown_keys(dashboard()) == []


def test_grafana_knows_every_value_of_the_dashboard() -> None:
    assert strange_values(dashboard()) == []


def test_grafana_knows_every_unit() -> None:
    used = {panel.unit for row in ROWS for panel in row.panels}

    assert used <= {value for name, value in vars(units).items() if name[0].isupper()}


def graph() -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the dashboard, to be changed, and the first panel in it that is a graph."""
    whole = json.loads(written())
    return whole, next(panel for panel in whole["panels"] if panel["type"] == "timeseries")


@pytest.mark.parametrize(
    "path",
    [
        ("gridPos",),
        ("targets", 0),
        ("targets", 0, "datasource"),
        ("options", "tooltip"),
        ("fieldConfig", "defaults"),
        ("fieldConfig", "defaults", "custom"),
    ],
    ids=lambda path: str(path[-1]),
)
def test_key_that_grafana_does_not_know_is_found_wherever_it_is(path: tuple[Any, ...]) -> None:
    whole, part = graph()
    for name in path:
        part = part[name]
    part["ofGrafana"] = False

    (found,) = unknown_keys(whole)

    assert found.endswith(".ofGrafana")


def test_value_that_grafana_does_not_know_is_found() -> None:
    whole, panel = graph()
    panel["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "lines"

    (found,) = strange_values(whole)

    assert ".draw_style: " in found
