"""Generates the Grafana dashboard from the declared metrics.

python -m rosterd.server.deploy.dashboard > server/deploy/dashboard.json
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .panels import ROWS, Panel

# Columns of a Grafana page. A row has six numbers or three graphs.
COLUMNS = 24
NUMBER, GRAPH = (4, 4), (8, 8)
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
ALL = ".*"


def dashboard() -> dict[str, Any]:
    """Returns the JSON model that Grafana imports."""
    return {
        "title": "Roster",
        "uid": "roster",
        "description": "Calls, database, webhooks and processes of Roster.",
        "tags": ["roster"],
        "schemaVersion": 38,
        "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "15s",
        "graphTooltip": 1,
        "templating": {"list": [_sources(), _instances()]},
        "panels": list(_panels()),
    }


def _sources() -> dict[str, Any]:
    return {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}


def _instances() -> dict[str, Any]:
    return {
        "name": "instance",
        "label": "Process",
        "type": "query",
        "datasource": SOURCE,
        "query": "label_values(roster_build_info, instance)",
        "refresh": 2,
        "includeAll": True,
        "allValue": ALL,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, down = 0, 0
    for row in ROWS:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": down, "w": COLUMNS, "h": 1},
            "panels": [],
        }
        down += 1
        across, height = 0, 0
        for panel in row.panels:
            width, height = NUMBER if panel.is_number else GRAPH
            if across + width > COLUMNS:
                across, down = 0, down + height
            number += 1
            position = {"x": across, "y": down, "w": width, "h": height}
            yield {"id": number, "gridPos": position, **_panel(panel)}
            across += width
        down += height


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "type": "stat" if panel.is_number else "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": {} if panel.is_number else {"tooltip": {"mode": "multi", "sort": "desc"}},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": SOURCE,
                "expr": expr,
                "legendFormat": legend,
            }
            for index, (expr, legend) in enumerate(panel.queries)
        ],
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.red_above is not None:
        steps.append({"color": "red", "value": panel.red_above})
    thresholds = {"mode": "absolute", "steps": steps}
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0, "thresholds": thresholds}
    if not panel.is_number:
        defaults["custom"] = {"drawStyle": "line", "fillOpacity": 10, "showPoints": "never"}
    return defaults


def dashboard_json() -> str:
    """Returns the content of dashboard.json."""
    return json.dumps(dashboard(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(dashboard_json(), end="")  # noqa: T201 - prints the result
