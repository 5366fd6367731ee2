"""Validates the dashboard with the models of Grafana's SDK."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grafana_foundation_sdk.models import units

from rosterd.server.deploy.dashboard import dashboard, dashboard_json
from rosterd.server.deploy.panels import ROWS

from .grafana import invalid_values, unknown_keys

pytestmark = pytest.mark.verify


def test_every_key_is_known_to_grafana() -> None:
    assert unknown_keys(dashboard()) == []


def test_every_value_is_valid_in_grafana() -> None:
    assert invalid_values(dashboard()) == []


def test_every_unit_is_known_to_grafana() -> None:
    used = {panel.unit for row in ROWS for panel in row.panels}

    assert used <= {value for name, value in vars(units).items() if name[0].isupper()}


def graph() -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a copy of the dashboard, and its first graph."""
    copy = json.loads(dashboard_json())
    return copy, next(panel for panel in copy["panels"] if panel["type"] == "timeseries")


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
def test_unknown_key_is_reported_at_every_level(path: tuple[Any, ...]) -> None:
    copy, element = graph()
    for name in path:
        element = element[name]
    element["unknownKey"] = False

    (reported,) = unknown_keys(copy)

    assert reported.endswith(".unknownKey")


def test_invalid_value_is_reported() -> None:
    copy, panel = graph()
    panel["fieldConfig"]["defaults"]["custom"]["drawStyle"] = "lines"

    (reported,) = invalid_values(copy)

    assert ".draw_style: " in reported
