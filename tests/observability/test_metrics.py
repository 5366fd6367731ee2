"""The operations port: what a process tells Prometheus of itself."""

from __future__ import annotations

import re
import subprocess
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from server.histogram import Histogram
from server.observability.exposition import Exposition
from server.observability.metrics import (
    EXECUTOR_BATCH_SIZE,
    METRICS,
    RPC_RUNNING,
    WEBHOOK_ATTEMPTS,
    Sample,
)

from ..conftest import Account
from ..documents import OPERATION, table
from ..fronts import METHODS, HttpFront
from ..parts import wait_until
from ..processes import Service
from ..tools import program
from .helpers import Samples, page_of, place_of, samples_of, value

# What is there besides rpcs: the document, the reference, health, and what is none of them.
PAGES = 9
GET, TAGS = "SubscriberService.GetSubscriber", "TagService.ListTags"


def told(account: Account) -> Samples:
    """Returns the figures of the service that an account is on."""
    return samples_of(place_of(account.service.printed))


def test_table_of_metrics_agrees_with_the_code() -> None:
    assert table(OPERATION, "metric | kind | labels | meaning") == [
        [
            f"`{each.name}`",
            each.kind.value,
            ", ".join(f"`{label}`" for label in each.labels),
            each.help,
        ]
        for each in METRICS
    ]


def test_a_call_is_counted_by_rpc_and_status(account: Account) -> None:
    before = told(account)
    account.ok("ListTags")
    account.fails("SubscriberNotFound", "GetSubscriber", id="nobody@example.com")

    def grown(name: str, **labels: str) -> float:
        return value(told(account), name, **labels) - value(before, name, **labels)

    # Over gRPC a client may hear of a failure just before it is counted.
    calls, seconds = "roster_rpc_calls_total", "roster_rpc_duration_seconds_count"
    wait_until(lambda: grown(calls, rpc=GET, code="NOT_FOUND") == 1, "the failure is not counted")
    assert grown(calls, rpc=TAGS, code="OK") == 1
    assert (grown(seconds, rpc=TAGS), grown(seconds, rpc=GET)) == (1, 1)
    wait_until(lambda: value(told(account), "roster_rpc_in_flight") == 0, "a call still runs")


def test_a_request_is_counted_by_route_and_status(http_account: Account) -> None:
    before = told(http_account)
    front = http_account.front
    assert isinstance(front, HttpFront)
    _, _, body = front.exchange("GET", "/api/tags", http_account.key)
    front.exchange("GET", "/api/nothing/ada@example.com")
    front.exchange("POST", "/api/tags", http_account.key, body=b"{")

    after = told(http_account)

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    requests = "roster_http_requests_total"
    assert grown(requests, route=TAGS, status="200") == 1
    assert grown(requests, route="none", status="404") == 1
    assert grown(requests, route="TagService.CreateTag", status="400") == 1
    assert grown("roster_http_received_bytes_total") == 1
    assert grown("roster_http_sent_bytes_total") > len(body)


def test_writes_are_counted_with_their_commits(account: Account) -> None:
    before = told(account)
    account.ok("CreateTag", name="vip")

    # What the service writes for itself may wait at any moment, and soon does not.
    wait_until(
        lambda: value(told(account), "roster_executor_queue_length", executor="writer") == 0,
        "an empty queue",
    )
    after = told(account)
    for name in ("roster_commit_duration_seconds_count", "roster_commit_duration_seconds_sum"):
        assert value(after, name) > value(before, name)
    for name in ("roster_executor_batch_size_count", "roster_executor_busy_seconds_total"):
        assert value(after, name, executor="writer") > value(before, name, executor="writer")


def test_sqlite_tells_the_size_of_its_log_and_postgres_how_many_connections_are_in_use(
    http_account: Account, service_on_postgres: Service
) -> None:
    place = place_of(service_on_postgres.printed)
    on_sqlite, on_postgres = told(http_account), samples_of(place)

    assert value(on_sqlite, "roster_sqlite_file_size_bytes", file="wal") > 0
    assert value(on_sqlite, "roster_sqlite_file_size_bytes", file="database") > 0
    assert value(on_postgres, "roster_executor_threads", executor="reader") == 4
    # The service looks for work of its own now and then.
    wait_until(
        lambda: value(samples_of(place), "roster_executor_busy_threads", executor="reader") == 0,
        "idle readers",
    )
    assert not [name for name, _ in on_postgres if "sqlite" in name]


def test_no_label_has_more_values_than_there_are_rpcs_and_pages(account: Account) -> None:
    for number in range(20):
        account.call("GetSubscriber", id=f"nobody-{number}@example.com")
    if isinstance(account.front, HttpFront):
        for number in range(20):
            account.front.exchange(f"X{number}", f"/{number}")

    page = page_of(place_of(account.service.printed))

    assert "nobody" not in page
    assert account.id not in page
    assert len(set(re.findall(r'route="([^"]*)"', page))) <= len(METHODS) + PAGES


def test_a_source_that_fails_leaves_out_its_own_samples_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> list[Sample]:
        raise LookupError("no figures")

    exposition = Exposition()
    exposition.add(broken)
    exposition.add(lambda: [Sample(RPC_RUNNING, 3)])
    exposition.add(lambda: [Sample(WEBHOOK_ATTEMPTS, 2, ("delivered",))])

    samples = {s.name: s.value for family in exposition.collect() for s in family.samples}

    assert (samples["roster_rpc_in_flight"], samples["roster_webhook_attempts_total"]) == (3, 2)
    assert "figures could not be told" in caplog.text


def test_a_histogram_counts_what_is_at_most_a_bound() -> None:
    batches = Histogram((1, 2, 4))
    for size in (1, 2, 3, 9):
        batches.add(size)
    exposition = Exposition()
    exposition.add(lambda: [Sample(EXECUTOR_BATCH_SIZE, batches, ("writer",))])

    (family,) = [each for each in exposition.collect() if each.name == EXECUTOR_BATCH_SIZE.name]

    buckets = {s.labels["le"]: s.value for s in family.samples if "le" in s.labels}
    assert buckets == {"1": 1, "2": 2, "4": 3, "+Inf": 4}
    assert {
        s.name.removeprefix(EXECUTOR_BATCH_SIZE.name): s.value
        for s in family.samples
        if "le" not in s.labels
    } == {
        "_count": 4,
        "_sum": 15,
    }


@pytest.mark.verify
def test_promtool_finds_no_fault_with_the_names(http_account: Account) -> None:
    http_account.ok("ListTags")
    page = page_of(place_of(http_account.service.printed))

    tool = program("promtool", "prometheus")
    done = subprocess.run(
        [tool, "check", "metrics"], input=page, text=True, capture_output=True, timeout=60
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_port_has_the_figures_alone_and_speaks_openmetrics_too(service: Service) -> None:
    url = place_of(service.printed)
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}

    with urlopen(Request(url, headers=accept), timeout=20) as answer:
        assert answer.read().endswith(b"# EOF\n")
    with pytest.raises(HTTPError, match="404"):
        page_of(url.removesuffix("metrics") + "api/tags")
