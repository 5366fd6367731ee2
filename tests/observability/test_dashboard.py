"""Tests the dashboard: its file is up to date, and its queries find data in a real Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rosterd.server.deploy.dashboard import dashboard, dashboard_json
from rosterd.server.deploy.panels import ROWS
from rosterd.server.observability.metrics import METRICS, Kind

from ..conftest import Account, new_account
from ..features.webhooks.receiver import listening
from ..fronts import HttpFront
from ..processes import Service
from .helpers import metrics_url
from .prometheus import Prometheus, prometheus

FILE = Path(__file__).parent.parent.parent / "server" / "deploy" / "dashboard.json"
QUERIES = [
    pytest.param(query, id=f"{panel.title}-{legend}")
    for row in ROWS
    for panel in row.panels
    for query, legend in panel.queries
]
# Queries without results while nothing is wrong, and on a database that is not distributed.
EMPTY = ("unreachable: {{instance}} {{worker}}", "Database nodes-{{state}}")


def test_dashboard_file_is_up_to_date() -> None:
    assert FILE.read_text() == dashboard_json(), "run: make generate"


def test_every_metric_is_on_the_dashboard() -> None:
    suffixes = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count")}
    series = set(re.findall(r"roster_\w+", dashboard_json()))

    missing = [
        metric.name
        for metric in METRICS
        if not any(metric.name + suffix in series for suffix in suffixes.get(metric.kind, ("",)))
    ]

    assert missing == []


def test_panels_do_not_overlap() -> None:
    cells = [
        (x, y)
        for panel in dashboard()["panels"]
        for position in [panel["gridPos"]]
        for x in range(position["x"], position["x"] + position["w"])
        for y in range(position["y"], position["y"] + position["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@pytest.fixture(scope="module")
def scraping(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped a service after calls of each kind."""
    folder = tmp_path_factory.mktemp("prometheus")
    account = new_account(service, HttpFront("http", service.http))
    with listening() as receiver:
        account.ok("CreateWebhook", url=receiver.url)
        make_calls(account)
        receiver.wait_for(1)
    with prometheus(folder, [metrics_url(service.printed)]) as running:
        yield running


def make_calls(account: Account) -> None:
    """Makes a call that succeeds and one that fails."""
    account.ok("CreateTag", name="vip")
    account.fails("TagAlreadyExists", "CreateTag", name="vip")


@pytest.mark.verify
@pytest.mark.parametrize("query", QUERIES)
def test_query_of_a_panel_finds_data(
    scraping: Prometheus, request: pytest.FixtureRequest, query: str
) -> None:
    promql = query.replace("$__rate_interval", "1m").replace("$instance", ".*")

    series = scraping.query(promql)

    assert bool(series) == (not request.node.callspec.id.endswith(EMPTY)), promql
