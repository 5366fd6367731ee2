"""Writes `server/serving/examples/events.json`: an event of each type, and the limits of delivery.

    python -m tests.features.webhooks.payloads

The events are recorded by the stores during a scenario, with a clock and ids that are the same in
every run. A test compares the file with the result.
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

from rosterd.server.features.custom_fields import store as custom_fields
from rosterd.server.features.custom_fields.rules import DataType
from rosterd.server.features.events import store_reading as events
from rosterd.server.features.events.envelope import PREFIX
from rosterd.server.features.events.rules import EventType
from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import BatchRequest, State
from rosterd.server.features.signups.store import REPEAT_TIME, SignupStore
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.rules import NewSubscriber
from rosterd.server.features.subscribers.store import Changes, SubscriberStore
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.suppressions.store import Suppressions
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import rules
from rosterd.server.features.webhooks.delivery import store_test_deliveries
from rosterd.server.features.webhooks.delivery.store_results import (
    FinishedAttempt,
    disable,
    record_attempts,
)
from rosterd.server.features.webhooks.endpoints.signing import sign
from rosterd.server.features.webhooks.store import NewWebhook, create
from rosterd.server.rpc import caller
from rosterd.server.rpc.paging import Page
from rosterd.server.security.encryption import Encryption
from rosterd.server.security.links import Links
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.actors import Actor, ActorType, person
from rosterd.server.values.emails import Email
from rosterd.server.values.ids import first_id_at, timestamp_of

from .worker import TestClock, lease_due

FILE = Path(__file__).parents[3] / "server/serving/examples/events.json"
ACCOUNT_ID = "0" * 26
SEGMENT_ID = "01M7Y2MPAQ036JVMBN3RCKGA5K"
# 2026-11-21T03:33:16.247Z, as in the examples of the protos.
START = 1_795_231_996_247
ENCRYPTION = Encryption(bytes(32))
LINKS = Links(ENCRYPTION, "https://news.example.com")
SUBSCRIBERS = SubscriberStore(Suppressions(ENCRYPTION), LINKS)
ALL = Page(number=1, limit=100)
KEY = Actor(ActorType.API_KEY, SEGMENT_ID, "Nightly sync")
# The secret in the examples of the protos.
SECRET = f"whsec_{'A' * 43}="
ENDPOINTS = ("https://example.com/hooks/roster", "https://crm.example.com/roster")
# The other states are reached from CONFIRMED only.
STATUSES = (
    Status.CONFIRMED,
    Status.UNSUBSCRIBED,
    Status.CONFIRMED,
    Status.BOUNCED,
    Status.CONFIRMED,
    Status.COMPLAINED,
)

T = TypeVar("T")


def content() -> bytes:
    """Returns the content of the file."""
    first = {event["type"]: event for event in reversed(asyncio.run(_recorded_events()))}
    document = {
        "secret": SECRET,
        "headers": _headers(first[EventType.TAG_CREATED]),
        "events": {str(event_type): first[event_type] for event_type in EventType},
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


class Scenario:
    """Runs changes of an account in separate transactions, some minutes apart."""

    def __init__(self, database: SqliteDatabase, clock: TestClock) -> None:
        self._database = database
        self._clock = clock
        self._random = random.Random(0)

    def wait(self, milliseconds: int) -> None:
        """Advances the clock."""
        self._clock.advance(milliseconds)

    async def step(self, work: Callable[[Transaction], T], actor: Actor | None = KEY) -> T:
        """Advances the clock and makes a change."""
        caller.enter_account(ACCOUNT_ID, actor)
        self._clock.advance(self._random.randrange(1_000, 300_000))
        first_id = int(ULID.from_str(first_id_at(self._clock.now)))
        # New ids follow the last one, so they are the same in every run.
        self._database.ids.start_past(str(ULID.from_int(first_id + self._random.getrandbits(79))))
        return await self._database.write(work)


def _headers(event: dict[str, Any]) -> dict[str, str]:
    """Returns the headers of an event that is sent as soon as it is recorded."""
    text = orjson.dumps(event).decode()
    return sign(event["id"], timestamp_of(event["id"].removeprefix(PREFIX)), text, [SECRET])


async def _recorded_events() -> list[dict[str, Any]]:
    clock = TestClock(START)
    with TemporaryDirectory() as folder:
        database = SqliteDatabase(Path(folder) / "roster.db", clock=clock)
        await database.open()
        try:
            await _run(Scenario(database, clock))
            found, _, _ = await database.read(
                lambda tx: events.page(ACCOUNT_ID, events.Filter(), ALL, tx, descending=False)
            )
        finally:
            await database.close()
    return [orjson.loads(event.envelope) for event in found]


async def _run(scenario: Scenario) -> None:
    ours, other = [await scenario.step(lambda tx, url=url: _webhook(url, tx)) for url in ENDPOINTS]
    await scenario.step(lambda tx: store_test_deliveries.begin(ACCOUNT_ID, ours, tx))
    tag = await scenario.step(lambda tx: tags.create(ACCOUNT_ID, "VIP", "", tx))
    changed = {"name": "vip", "description": "Buys every month."}
    await scenario.step(lambda tx: tags.update(ACCOUNT_ID, tag.id, changed, tx))
    field = await scenario.step(
        lambda tx: custom_fields.create(
            ACCOUNT_ID, "favorite_color", "Favorite colors", DataType.TEXT, "", tx
        )
    )
    labelled = {"label": "Favorite color"}
    await scenario.step(lambda tx: custom_fields.update(ACCOUNT_ID, field.id, labelled, tx))
    ada = await scenario.step(lambda tx: SUBSCRIBERS.create(ACCOUNT_ID, _ada(), tx).id)
    changes = Changes(profile={"last_name": "Lovelace"}, values={"favorite_color": "green"})
    await scenario.step(lambda tx: SUBSCRIBERS.update(ACCOUNT_ID, ada, changes, tx))
    for status in STATUSES:
        await scenario.step(
            lambda tx, to=status: change_status(ACCOUNT_ID, ada, to, tx, by_admin=False)
        )
        if status is Status.UNSUBSCRIBED:
            scenario.wait(REPEAT_TIME)
            await scenario.step(_sign_up, person(""))
    message = {"action": {"changeStatus": "COMPLAINED"}, "segmentId": SEGMENT_ID}
    batch = BatchRequest(message, ["tags:vip"], by_admin=False)
    operation = await scenario.step(
        lambda tx: operations.create(ACCOUNT_ID, batch, None, 1, tx)._replace(processed=1)
    )
    await scenario.step(lambda tx: operations.end(ACCOUNT_ID, operation, State.SUCCEEDED, tx))
    await scenario.step(lambda tx: SUBSCRIBERS.delete(ACCOUNT_ID, ada, tx))
    await scenario.step(lambda tx: custom_fields.delete(ACCOUNT_ID, field.id, tx))
    await scenario.step(lambda tx: tags.delete(ACCOUNT_ID, tag.id, tx))
    await scenario.step(lambda tx: _respond_gone(other, tx), actor=None)
    gone = rules.DisabledReason.GONE
    await scenario.step(lambda tx: disable(ACCOUNT_ID, other, gone, tx), actor=None)


def _sign_up(tx: Transaction) -> None:
    store = SignupStore(SUBSCRIBERS, Suppressions(ENCRYPTION), LINKS)
    store.sign_up(ACCOUNT_ID, _ada(), tx)


def _respond_gone(webhook_id: str, tx: Transaction) -> None:
    """Records status 410 for a delivery of a webhook."""
    leased = next(
        delivery
        for delivery in lease_due(ACCOUNT_ID, tx).deliveries
        if delivery.webhook.id == webhook_id
    )
    url = leased.webhook.url
    record_attempts(
        ACCOUNT_ID,
        [FinishedAttempt(leased.delivery, tx.now, 84, 410, "HTTP 410", "", None, 0.5, url)],
        tx,
    )


def _webhook(url: str, tx: Transaction) -> str:
    new = NewWebhook(url, "", (), enabled=True)
    return create(ACCOUNT_ID, new, lambda _: b"encrypted", tx).id


def _ada() -> NewSubscriber:
    email = Email("Ada@example.com", "ada@example.com")
    profile = {"first_name": "Ada", "last_name": ""}
    return NewSubscriber(email, profile, Status.UNCONFIRMED, {"vip": "vip"}, {})


if __name__ == "__main__":
    FILE.write_bytes(content())
