"""Writes `http_gateway/openapi/events.json`: an event of every kind, and what delivery keeps to.

    python -m tests.webhooks.payloads

The events are those of a short story that real stores have been through, with a clock and ids
that are the same in every run. A test holds the file to what this makes.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import orjson
from ulid import ULID

from server.custom_fields import store as custom_fields
from server.custom_fields.rules import DataType
from server.emails import Email
from server.encryption import Encryption
from server.events import store_reading as events
from server.events.envelope import PREFIX
from server.events.rules import EventType
from server.ids import first_id_at, timestamp_of
from server.paging import Page
from server.storage.sqlite.database import SqliteDatabase
from server.storage.transaction import Transaction
from server.subscribers.rules import NewSubscriber, Status
from server.subscribers.store import Changes, SubscriberStore, change_status
from server.suppressions.store import Suppressions
from server.tags import store as tags
from server.webhooks import rules
from server.webhooks.delivery import store_disabling, store_test_deliveries
from server.webhooks.delivery.store_leases import lease_due
from server.webhooks.delivery.store_results import FinishedAttempt, record_attempts
from server.webhooks.delivery.store_retention import ATTEMPT_RETENTION, EVENT_RETENTION
from server.webhooks.egress.client import MAX_READ, TIMEOUT_SECONDS
from server.webhooks.endpoints.signing import sign
from server.webhooks.store import NewWebhook, create

from .worker import TestClock

FILE = Path(__file__).parents[2] / "http_gateway/openapi/events.json"
ACCOUNT_ID = "0" * 26
# 2026-11-21T03:33:16.247Z, which the examples of the protos tell of.
BEGINNING = 1_795_231_996_247
SUBSCRIBERS = SubscriberStore(Suppressions(Encryption(bytes(32))))
ALL = Page(number=1, limit=100)
# The one that the examples of the protos show.
SECRET = f"whsec_{'A' * 43}="
ENDPOINTS = ("https://example.com/hooks/roster", "https://crm.example.com/roster")
# From each of the others the way to the next leads over the first.
STATUSES = (
    Status.CONFIRMED,
    Status.UNSUBSCRIBED,
    Status.CONFIRMED,
    Status.BOUNCED,
    Status.CONFIRMED,
    Status.COMPLAINED,
)

T = TypeVar("T")


def made() -> bytes:
    """Returns what the file has to hold."""
    told = asyncio.run(_happened())
    first = {event["type"]: event for event in reversed(told)}
    content = {
        "delivery": DELIVERY,
        "secret": SECRET,
        "headers": _headers(first[EventType.TAG_CREATED]),
        "events": {str(kind): first[kind] for kind in EventType},
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


# In seconds, bytes and numbers of things.
DELIVERY = {
    "schedule": rules.RETRY_DELAYS,
    "jitter": rules.JITTER,
    "answerWithin": TIMEOUT_SECONDS,
    "mostRead": MAX_READ,
    "failuresBeforeAPause": rules.FAILURES_BEFORE_PAUSE,
    "shortestPause": rules.MIN_PAUSE // 1000,
    "longestPause": rules.MAX_PAUSE // 1000,
    "disabledAfter": rules.DISABLE_AFTER // 1000,
    "oldSecretSignsFor": rules.OLD_SECRET_VALIDITY // 1000,
    "inFlight": rules.MAX_IN_FLIGHT_PER_ENDPOINT,
    "eventsKept": EVENT_RETENTION // 1000,
    "attemptsKept": ATTEMPT_RETENTION // 1000,
}


class Scenario:
    """Changes of one account, each in a transaction of its own, some minutes apart."""

    def __init__(self, database: SqliteDatabase, clock: TestClock) -> None:
        self._database = database
        self._clock = clock
        self._chance = random.Random(0)

    async def step(self, work: Callable[[Transaction], T]) -> T:
        """Goes on to the next moment and makes a change."""
        self._clock.advance(self._chance.randrange(1_000, 300_000))
        moment = int(ULID.from_str(first_id_at(self._clock.now)))
        # Ids go on from the last one, so they are the same in every run.
        self._database.ids.start_past(str(ULID.from_int(moment + self._chance.getrandbits(79))))
        return await self._database.write(work)


def _headers(event: dict[str, Any]) -> dict[str, str]:
    """Returns the headers that an event is sent with at once."""
    text = orjson.dumps(event).decode()
    return sign(event["id"], timestamp_of(event["id"].removeprefix(PREFIX)), text, [SECRET])


async def _happened() -> list[dict[str, Any]]:
    """Returns the events of the story."""
    clock = TestClock(BEGINNING)
    with TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "story.db", clock=clock)
        await database.open()
        try:
            await _tell(Scenario(database, clock))
            found, _ = await database.read(
                lambda tx: events.page(ACCOUNT_ID, events.Filter(), ALL, tx, descending=False)
            )
        finally:
            await database.close()
    return [orjson.loads(event.envelope) for event in found]


async def _tell(scenario: Scenario) -> None:
    ours, other = [
        await scenario.step(lambda tx, url=url: _webhook(url, tx))  # type: ignore[misc]
        for url in ENDPOINTS
    ]
    await scenario.step(lambda tx: store_test_deliveries.begin(ACCOUNT_ID, ours, tx))
    tag = await scenario.step(lambda tx: tags.create(ACCOUNT_ID, "VIP", "", tx))
    changed = {"name": "vip", "description": "Buys every month."}
    await scenario.step(lambda tx: tags.update(ACCOUNT_ID, tag.id, changed, tx))
    field = await scenario.step(
        lambda tx: custom_fields.create(
            ACCOUNT_ID, "favourite_colour", "Favourite color", DataType.TEXT, "", tx
        )
    )
    labelled = {"label": "Favourite colour"}
    await scenario.step(lambda tx: custom_fields.update(ACCOUNT_ID, field.id, labelled, tx))
    ada = await scenario.step(lambda tx: SUBSCRIBERS.create(ACCOUNT_ID, _ada(), tx).id)
    changes = Changes(last_name="Lovelace", values={"favourite_colour": "green"})
    await scenario.step(lambda tx: SUBSCRIBERS.update(ACCOUNT_ID, ada, changes, tx))
    for status in STATUSES:
        await scenario.step(
            lambda tx, to=status: change_status(ACCOUNT_ID, ada, to, tx, by_admin=False)  # type: ignore[misc]
        )
    await scenario.step(lambda tx: SUBSCRIBERS.delete(ACCOUNT_ID, ada, tx))
    await scenario.step(lambda tx: custom_fields.delete(ACCOUNT_ID, field.id, tx))
    await scenario.step(lambda tx: tags.delete(ACCOUNT_ID, tag.id, tx))
    await scenario.step(lambda tx: _answer_gone(other, tx))
    gone = rules.DisabledReason.GONE
    await scenario.step(lambda tx: store_disabling.disable(ACCOUNT_ID, other, gone, tx))


def _answer_gone(webhook_id: str, tx: Transaction) -> None:
    """Has an endpoint answer 410 to what it is sent."""
    leased = next(
        each for each in lease_due(ACCOUNT_ID, tx).deliveries if each.webhook.id == webhook_id
    )
    url = leased.webhook.url
    record_attempts(
        ACCOUNT_ID,
        [FinishedAttempt(leased.delivery, tx.now, 84, 410, "answered 410", "", None, 0.5, url)],
        tx,
    )


def _webhook(url: str, tx: Transaction) -> str:
    new = NewWebhook(url, "", (), enabled=True)
    return create(ACCOUNT_ID, new, lambda _: b"sealed", tx).id


def _ada() -> NewSubscriber:
    email = Email("Ada@example.com", "ada@example.com")
    return NewSubscriber(email, "Ada", "", Status.UNCONFIRMED, {"vip": "vip"}, {})


if __name__ == "__main__":
    FILE.write_bytes(made())
