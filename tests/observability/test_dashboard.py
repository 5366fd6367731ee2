"""The dashboard: it is what the code makes, and a real Prometheus finds what it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from server.deploy.dashboard import dashboard, written
from server.deploy.panels import ROWS
from server.observability.metrics import METRICS

from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..processes import Service
from ..webhooks.receiver import listening
from .helpers import place_of
from .prometheus import Prometheus, prometheus

KEPT = Path(__file__).parent.parent.parent / "server" / "deploy" / "dashboard.json"
QUERIES = [
    pytest.param(row.title, query, id=f"{panel.title}-{legend}")
    for row in ROWS
    for panel in row.panels
    for query, legend in panel.queries
]
# What finds nothing where nothing is wrong.
QUIET = ("unreachable: {{instance}} {{worker}}",)


def test_the_file_is_what_the_code_makes() -> None:
    assert KEPT.read_text() == written(), "run: make generate"


def test_every_metric_is_on_the_dashboard() -> None:
    queries = " ".join(query for row in ROWS for panel in row.panels for query, _ in panel.queries)
    asked = queries + str(dashboard()["templating"])

    assert [metric.name for metric in METRICS if metric.name not in asked] == []


def test_panels_have_places_of_their_own() -> None:
    taken = [
        (x, y)
        for panel in dashboard()["panels"]
        for place in [panel["gridPos"]]
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


@pytest.fixture(scope="module")
def watched(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has looked at a service with some calls of each kind."""
    folder = tmp_path_factory.mktemp("prometheus")
    account = new_account(service, HttpFront("http", service.http))
    with listening() as receiver:
        account.ok("CreateWebhook", url=receiver.url)
        call_once(account)
        receiver.wait_for(1)
    with prometheus(folder, [place_of(service.printed)]) as running:
        yield running


def call_once(account: Account) -> None:
    """Makes a call that succeeds and one that fails."""
    account.ok("CreateTag", name="vip")
    account.fails("TagAlreadyExists", "CreateTag", name="vip")


@pytest.mark.verify
@pytest.mark.parametrize(("row", "query"), QUERIES)
def test_prometheus_finds_what_a_panel_asks_for(
    watched: Prometheus, request: pytest.FixtureRequest, row: str, query: str
) -> None:
    asked = query.replace("$__rate_interval", "1m").replace("$instance", ".*")

    found = watched.now(asked)

    assert bool(found) == (not request.node.callspec.id.endswith(QUIET)), asked
