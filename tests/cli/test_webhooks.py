"""Tests of `roster webhooks`."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.serving.console import ExitCode

from ..behavior.deliveries import create_tags, create_webhook, deliveries, wait_for
from ..behavior.helpers import MISSING_ID, create_field, create_subscriber
from ..components import free_port
from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply
from ..processes import Process, limited, run_command
from .transfers import command, transfer


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file for the standard error of a command."""
    return tmp_path / "log"


@contextmanager
def tailing(
    account: Account, webhook: dict[str, Any], log: Path, *arguments: str, key: str = ""
) -> Iterator[tuple[Process, Iterator[str]]]:
    """Runs `roster webhooks tail`, and yields its lines after the first one is printed.

    It sends test deliveries until then. Their lines are omitted.
    """
    words, settings = command(account.with_key(key or account.key), "webhooks", "tail", *arguments)
    process = run_command(*words[2:], log=log, env=settings)
    assert process.stdout is not None
    has_printed = threading.Event()

    def send_test_events() -> None:
        while not has_printed.wait(0.05):
            account.ok("TestWebhook", id=webhook["id"])

    testing = threading.Thread(target=send_test_events)
    testing.start()
    try:
        with limited(process):
            try:
                assert "webhook.test" in process.stdout.readline()
            finally:
                has_printed.set()
                testing.join()
            yield process, (line for line in process.stdout if "webhook.test" not in line)
    finally:
        process.kill()
        process.wait(timeout=60)
        process.stdout.close()


def test_tail_prints_a_line_for_each_attempt(
    http_account: Account, receiver: Receiver, log: Path
) -> None:
    webhook = create_webhook(http_account, receiver.url)

    with tailing(http_account, webhook, log) as (_, lines):
        create_tags(http_account, "a")
        success = next(lines)
        receiver.replies = [Reply(503)]
        create_tags(http_account, "b")
        failure = next(lines)
        receiver.replies = [Reply(410)]
        create_tags(http_account, "c")
        last = next(lines)

    timestamp, status, event_type, url, duration, unit = success.split()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp)
    assert (status, event_type, url, unit) == ("200", "tag.created", receiver.url, "ms")
    assert duration.isdigit()
    gone, failed, _ = deliveries(http_account, webhook, eventType="tag.created")
    assert re.fullmatch(
        rf"HTTP 503  {failed['id']}  next attempt at \S+Z\n", failure.split(" ms  ")[1]
    )
    assert last.split(" ms  ")[1] == f"HTTP 410  {gone['id']}  webhook disabled\n"


def test_tail_prints_records_for_scripts(
    http_account: Account, receiver: Receiver, log: Path
) -> None:
    webhook = create_webhook(http_account, receiver.url)
    create_webhook(http_account, f"{receiver.url}/other")

    with tailing(http_account, webhook, log, "--json", "--webhook", webhook["id"]) as (_, lines):
        create_tags(http_account, "a")
        record = json.loads(next(lines))

    (delivery,) = deliveries(http_account, webhook, eventType="tag.created")
    shown = http_account.ok("GetWebhookDelivery", id=delivery["id"])
    assert record == {"delivery": delivery, "attempt": shown["attempts"][0]}


def test_tail_ends_when_it_is_interrupted(
    http_account: Account, receiver: Receiver, log: Path
) -> None:
    webhook = create_webhook(http_account, receiver.url)

    with tailing(http_account, webhook, log) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == ExitCode.INTERRUPTED

    assert log.read_text() == ""


def test_tail_reports_that_its_key_was_revoked(
    http_account: Account, receiver: Receiver, log: Path
) -> None:
    webhook = create_webhook(http_account, receiver.url)
    key = http_account.new_key("read")

    with tailing(http_account, webhook, log, key=key) as (process, _):
        keys = http_account.ok("ListApiKeys")["apiKeys"]
        http_account.ok("RevokeApiKey", id=next(k["id"] for k in keys if k["scope"] == "read"))
        assert process.wait(timeout=60) == ExitCode.REJECTED

    assert log.read_text() == (
        "roster: The service ended the response with an error:"
        " This API key does not exist, was revoked or has expired.\n"
    )


def test_commands_report_errors_in_one_line(http_account: Account) -> None:
    unknown = Account("", make_secret(), http_account.front, http_account.service)
    unreachable = f"http://127.0.0.1:{free_port()}"
    failures = [
        (transfer(http_account, "webhooks", "tail", "--webhook", MISSING_ID), 7),
        (transfer(unknown, "webhooks", "tail"), 7),
        (transfer(unknown, "webhooks", "list"), 7),
        (transfer(http_account, "webhooks", "tail", url=unreachable), 6),
        (transfer(http_account, "webhooks", "list", url=unreachable), 6),
        (transfer(http_account, "webhooks", "list", url="nonsense"), 2),
    ]

    for done, code in failures:
        assert (done.returncode, done.stdout) == (code, "")
        assert done.stderr.startswith("roster: ")
        assert done.stderr.count("\n") == 1
    assert "Webhook not found." in failures[0][0].stderr


def test_list_is_not_truncated_without_a_terminal(http_account: Account) -> None:
    url = f"https://example.com/{'a' * 200}"
    webhook = create_webhook(http_account, url)

    done = transfer(http_account, "webhooks", "list")

    assert done.stdout.splitlines()[1].split() == [webhook["id"], "enabled", url, "all"]


def test_list_prints_webhooks_and_their_state(http_account: Account, receiver: Receiver) -> None:
    first = create_webhook(
        http_account, "https://example.com/a", eventTypes=["tag.*", "subscriber.*"]
    )
    second = create_webhook(http_account, "https://example.com/b", enabled=False)
    third = create_webhook(http_account, receiver.url, eventTypes=["custom_field.*"])
    receiver.replies = [Reply(503)]
    create_field(http_account, "Plan")
    wait_for(http_account, third, lambda items: items and items[0]["attemptCount"] == 1)
    third = http_account.ok("GetWebhook", id=third["id"])["webhook"]

    done, plain = (transfer(http_account, "webhooks", "list", *more) for more in ((), ("--json",)))

    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert lines == [
        [first["id"], "enabled", "https://example.com/a", "tag.*", "subscriber.*"],
        [second["id"], "disabled", "https://example.com/b", "all"],
        [third["id"], "paused", receiver.url, "custom_field.*"],
    ]
    assert json.loads(plain.stdout) == {"webhooks": [first, second, third], "total": 3}


def test_health_prints_what_failed_and_what_waits(
    http_account: Account, receiver: Receiver
) -> None:
    working = create_webhook(http_account, receiver.url, eventTypes=["tag.deleted"])
    failing = create_webhook(http_account, f"{receiver.url}/failing")
    receiver.replies = [Reply(503)]
    create_tags(http_account, "a")
    wait_for(http_account, failing, lambda items: items and items[0]["attemptCount"] == 1)
    health = [
        http_account.ok("GetWebhookHealth", id=webhook["id"])["health"]
        for webhook in (working, failing)
    ]

    done = transfer(http_account, "webhooks", "health")
    plain = transfer(http_account, "webhooks", "health", "--webhook", failing["id"], "--json")

    first, second = (re.split(r"  +", line.strip()) for line in done.stdout.splitlines()[1:])
    assert first == [working["id"], "healthy", "no attempts", "0"]
    times = health[1]["failingSince"], health[1]["nextAttemptAt"]
    state = [failing["id"], "failing", "0 of 1 (0.0%)", "1"]
    assert second == [*state, times[0], "HTTP 503", times[1]]
    assert json.loads(plain.stdout) == {"health": health[1:], "total": 1}


def test_deliveries_prints_those_that_match_on_all_pages(
    http_account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(http_account, receiver.url, eventTypes=["tag.created"])
    number = 101
    create_tags(http_account, *map(str, range(number)))
    receiver.wait_for(number)
    create_subscriber(http_account)
    words = ("--webhook", webhook["id"], "--event-type", "tag.*", "--since", "2020-01-01T00:00:00Z")

    done = transfer(http_account, "webhooks", "deliveries", *words, "--limit", "200", "--json")
    table = transfer(http_account, "webhooks", "deliveries", *words, "--limit", "1")
    wrong = transfer(http_account, "webhooks", "deliveries", "--http-status", "42")

    listed = json.loads(done.stdout)["deliveries"]
    assert len({delivery["id"] for delivery in listed}) == number
    assert [line.split()[0] for line in table.stdout.splitlines()[1:]] == [listed[0]["id"]]
    assert (wrong.returncode, "--http-status" in wrong.stderr) == (ExitCode.REJECTED, True)
