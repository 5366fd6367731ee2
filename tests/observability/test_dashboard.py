"""Tests the dashboard: its queries name existing metrics, and find data in a real Prometheus."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rosterd.server.observability.metrics import METRICS, Kind

from ..conftest import Account, new_account
from ..features.webhooks.receiver import listening
from ..fronts import HttpFront
from ..processes import Service
from .helpers import metrics_url
from .prometheus import Prometheus, prometheus

FILE = Path(__file__).parents[2] / "server" / "deploy" / "dashboard.json"
QUERIES = [
    pytest.param(target["expr"], id=f"{panel['title']}-{target.get('legendFormat', '')}")
    for panel in json.loads(FILE.read_text())["panels"]
    for target in panel.get("targets", ())
]
# Queries without results while nothing is wrong, on a database that is not distributed, and without
# backups and certificates.
EMPTY = (
    "unreachable: {{instance}} {{process}}",
    "Database nodes-{{state}}",
    "backup: {{instance}}",
    "{{setting}}: {{instance}}",
)


def test_dashboard_shows_all_metrics_and_no_others() -> None:
    suffixes = {Kind.HISTOGRAM: "(_bucket|_sum|_count)"}
    series = set(re.findall(r"roster_\w+", FILE.read_text()))

    shown = {
        metric.name: {
            name
            for name in series
            if re.fullmatch(f"{metric.name}{suffixes.get(metric.kind, '')}", name)
        }
        for metric in METRICS
    }

    assert [name for name, found in shown.items() if not found] == []
    assert series - set().union(*shown.values()) == set()


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
