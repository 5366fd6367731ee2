"""Tests the health of webhooks over every front."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from rosterd.server.features.webhooks.rules import FAILURES_BEFORE_PAUSE
from rosterd.server.features.webhooks.store_health import MAX_ATTEMPTS

from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply
from .deliveries import Row, create_tags, create_webhook, wait_for, wait_for_states

BROKEN = Reply(503)


def health_of(account: Account, webhook: Row) -> dict[str, Any]:
    health: dict[str, Any] = account.ok("GetWebhookHealth", id=webhook["id"])["health"]
    return health


@pytest.mark.each_database
def test_health_includes_what_failed_and_what_waits(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    assert health_of(account, webhook) == {
        "webhookId": webhook["id"],
        "state": "HEALTHY",
        "succeededAttempts": 0,
        "failedAttempts": 0,
        "waiting": 0,
        "latestAttempts": [],
    }
    create_tags(account, "a", "b", "c")
    wait_for_states(account, webhook, *["SUCCEEDED"] * 3)
    receiver.replies = [BROKEN]
    create_tags(account, "d")
    failed, *succeeded = wait_for(
        account, webhook, lambda items: len(items) == 4 and items[0]["attemptCount"] == 1
    )

    health = health_of(account, webhook)

    failing_since = account.ok("GetWebhook", id=webhook["id"])["webhook"]["failingSince"]
    attempts = health.pop("latestAttempts")
    assert health == {
        "webhookId": webhook["id"],
        "state": "FAILING",
        "succeededAttempts": 3,
        "failedAttempts": 1,
        "successRate": 0.75,
        "countedSince": attempts[-1]["startedAt"],
        "waiting": 1,
        "oldestWaitingAt": failed["createdAt"],
        "failingSince": failing_since,
        "lastHttpStatus": 503,
        "lastError": "HTTP 503",
        "nextAttemptAt": failed["nextAttemptAt"],
    }
    assert [attempt["deliveryId"] for attempt in attempts] == [
        delivery["id"] for delivery in (failed, *succeeded)
    ]
    stored = account.ok("GetWebhookDelivery", id=failed["id"])["attempts"]
    names = ("number", "startedAt", "durationMs", "httpStatus", "error")
    assert [{name: attempts[0][name] for name in names}] == [
        {name: attempt[name] for name in names} for attempt in stored
    ]
    assert {attempt["httpStatus"] for attempt in attempts[1:]} == {200}
    assert not any("error" in attempt for attempt in attempts[1:])


def test_health_of_an_endpoint_without_a_response_is_paused_and_then_disabled(
    account: Account,
) -> None:
    webhook = create_webhook(account, "http://127.0.0.1:9/")
    create_tags(account, *map(str, range(FAILURES_BEFORE_PAUSE)))
    wait_for(
        account,
        webhook,
        lambda items: sum(i["attemptCount"] for i in items) >= FAILURES_BEFORE_PAUSE,
    )

    paused = health_of(account, webhook)
    account.ok("UpdateWebhook", id=webhook["id"], enabled=False)
    disabled = health_of(account, webhook)

    assert (paused["state"], paused["lastError"]) == ("PAUSED", "connection refused")
    assert "lastHttpStatus" not in paused
    assert (paused["waiting"], paused["successRate"]) == (FAILURES_BEFORE_PAUSE, 0.0)
    pause = datetime.fromisoformat(paused["nextAttemptAt"]) - datetime.fromisoformat(
        paused["latestAttempts"][0]["startedAt"]
    )
    assert pause > timedelta(seconds=20)
    assert (disabled["state"], disabled["waiting"]) == ("DISABLED", FAILURES_BEFORE_PAUSE)
    assert "nextAttemptAt" not in disabled


def test_health_has_the_latest_attempts_of_one_webhook(
    account: Account, receiver: Receiver
) -> None:
    webhook, other = (create_webhook(account, receiver.url, enabled=False) for _ in range(2))
    sent = [
        account.ok("TestWebhook", id=webhook["id"])["delivery"]["id"]
        for _ in range(MAX_ATTEMPTS + 2)
    ]
    account.ok("TestWebhook", id=other["id"])

    health = health_of(account, webhook)

    assert [attempt["deliveryId"] for attempt in health["latestAttempts"]] == sent[:1:-1]
    assert health["succeededAttempts"] == MAX_ATTEMPTS + 2
