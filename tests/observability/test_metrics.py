"""Tests the metrics of a service."""

from __future__ import annotations

import re
import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from rosterd.server.observability.exposition import Exposition
from rosterd.server.observability.metrics import (
    METRICS,
    RPC_RUNNING,
    WEBHOOK_ATTEMPTS,
    Sample,
)
from rosterd.server.serving.documentation import documentation
from rosterd.server.storage.schema_version import PROGRAM_VERSION

from ..components import wait_until
from ..conftest import Account
from ..documents import OPERATION, table
from ..fronts import METHODS, HttpFront
from ..processes import Service
from ..tools import program
from .helpers import Samples, get, metrics_url, samples_of, value

# Routes that are not rpcs: OpenAPI, reference, search, guides, health, and `none`.
PAGES = 10 + len(documentation().guides)
GET, TAGS = "SubscriberService.GetSubscriber", "TagService.ListTags"
CALLS = "roster_rpc_calls_total"


def samples(account: Account) -> Samples:
    """Returns the metrics of the account's service."""
    return samples_of(metrics_url(account.service.printed))


def increase(before: Samples, after: Samples, name: str, **labels: str) -> float:
    return value(after, name, **labels) - value(before, name, **labels)


def test_documented_metrics_are_those_in_the_code() -> None:
    assert table(OPERATION, "metric | kind | labels | meaning") == [
        [
            f"`{metric.name}`",
            metric.kind.value,
            ", ".join(f"`{label}`" for label in metric.labels),
            metric.help,
        ]
        for metric in METRICS
    ]


def test_a_call_is_counted_by_rpc_and_status(account: Account) -> None:
    before = samples(account)
    account.ok("ListTags")
    account.fails("SubscriberNotFound", "GetSubscriber", id="missing@example.com")

    # Over gRPC a client may receive a failure just before it is counted.
    wait_until(
        lambda: increase(before, samples(account), CALLS, rpc=GET, code="NOT_FOUND") == 1,
        "the failure is not counted",
    )
    after = samples(account)
    assert increase(before, after, CALLS, rpc=TAGS, code="OK") == 1
    for rpc in (TAGS, GET):
        assert increase(before, after, "roster_rpc_duration_seconds_count", rpc=rpc) == 1
    wait_until(
        lambda: value(samples(account), "roster_rpc_calls_in_flight") == 0, "a call still runs"
    )


def test_a_request_is_counted_by_route_and_status(http_account: Account) -> None:
    before = samples(http_account)
    front = http_account.front
    assert isinstance(front, HttpFront)
    _, _, body = front.exchange("GET", "/api/tags", http_account.key)
    front.exchange("GET", "/api/nothing/ada@example.com")
    front.exchange("POST", "/api/tags", http_account.key, body=b"{")

    after = samples(http_account)
    for route, status in ((TAGS, "200"), ("none", "404"), ("TagService.CreateTag", "400")):
        requests = "roster_http_requests_total"
        assert increase(before, after, requests, route=route, status=status) == 1
    assert increase(before, after, "roster_http_request_body_bytes_total") == 1
    assert increase(before, after, "roster_http_response_body_bytes_total") > len(body)


def test_writes_are_counted_with_their_commits(account: Account) -> None:
    before = samples(account)
    account.ok("CreateTag", name="vip")

    # The service also writes in the background.
    wait_until(
        lambda: value(samples(account), "roster_executor_queue_length", executor="writer") == 0,
        "an empty queue",
    )
    after = samples(account)
    for name in ("roster_commit_duration_seconds_count", "roster_commit_duration_seconds_sum"):
        assert value(after, name) > value(before, name)
    for name in (
        "roster_executor_batch_work_items_count",
        "roster_executor_wait_seconds_count",
        "roster_executor_thread_busy_seconds_total",
    ):
        assert value(after, name, executor="writer") > value(before, name, executor="writer")


def test_readiness_schema_version_and_free_space_are_metrics(account: Account) -> None:
    found = samples(account)

    assert value(found, "roster_ready") == 1
    assert value(found, "roster_database_schema_version") == PROGRAM_VERSION
    is_file = account.service.database_url.startswith("sqlite:")
    assert bool(value(found, "roster_database_free_bytes")) == is_file


def test_label_values_do_not_come_from_clients(account: Account) -> None:
    for number in range(20):
        account.call("GetSubscriber", id=f"missing-{number}@example.com")
    if isinstance(account.front, HttpFront):
        for number in range(20):
            account.front.exchange(f"X{number}", f"/{number}")

    page = get(metrics_url(account.service.printed))

    assert "missing" not in page
    assert account.id not in page
    assert len(set(re.findall(r'route="([^"]*)"', page))) <= len(METHODS) + PAGES


def test_failing_source_does_not_affect_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> list[Sample]:
        raise LookupError

    exposition = Exposition()
    exposition.add(broken)
    exposition.add(lambda: [Sample(RPC_RUNNING, 3)])
    exposition.add(lambda: [Sample(WEBHOOK_ATTEMPTS, 2, ("delivered",))])

    values = {s.name: s.value for family in exposition.collect() for s in family.samples}

    assert (values["roster_rpc_calls_in_flight"], values["roster_webhook_attempts_total"]) == (3, 2)
    assert "a metric source failed" in caplog.text


@pytest.mark.verify
def test_promtool_accepts_the_metrics(http_account: Account) -> None:
    http_account.ok("ListTags")
    page = get(metrics_url(http_account.service.printed))

    tool = program("promtool", "prometheus")
    done = subprocess.run(
        [tool, "check", "metrics"], input=page, text=True, capture_output=True, timeout=60
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_metrics_port_supports_openmetrics_and_serves_nothing_else(service: Service) -> None:
    url = metrics_url(service.printed)
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}

    with urlopen(Request(url, headers=accept), timeout=20) as response:
        assert response.read().endswith(b"# EOF\n")
    with pytest.raises(HTTPError, match="404"):
        get(url.removesuffix("metrics") + "api/tags")
