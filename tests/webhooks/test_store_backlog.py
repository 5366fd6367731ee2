"""How much waits to be delivered, on both databases: what is due at webhooks that are enabled."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from server.storage.databases import unit_of_work
from server.webhooks import store
from server.webhooks.delivery.store_backlog import EMPTY, Backlog, backlog_of_any_account
from server.webhooks.delivery.store_leases import lease_due
from server.webhooks.rules import LEASE

from ..storage.test_plans import Watched
from .delivering import OURS, Place, Process, play

THEIRS = "1" * 26
HOUR = 3_600_000


async def wait(here: Process, account_id: str, *names: str) -> str:
    """Has events wait at a new webhook for an hour, since whoever took them on is gone."""
    webhook = await here.add("http://127.0.0.1:1/", account_id=account_id)
    await here.happen(*names, account_id=account_id)
    await here.database.write(partial(lease_due, account_id))
    here.clock.advance(HOUR + LEASE)
    return webhook.id


def test_what_waits_is_counted_in_all_accounts_since_it_was_due(place: Place) -> None:
    async def story(here: Process) -> None:
        assert await here.database.read(backlog_of_any_account) == EMPTY
        await wait(here, OURS, "a", "b")
        await wait(here, THEIRS, "a")

        assert await here.database.read(backlog_of_any_account) == Backlog(3, 2 * HOUR + LEASE)

    play(place, story)


def test_what_waits_for_a_webhook_that_is_disabled_or_gone_is_not_counted(place: Place) -> None:
    async def story(here: Process) -> None:
        disabled = await wait(here, OURS, "a", "b")
        deleted = await wait(here, THEIRS, "a")
        await here.database.write(partial(store.update, OURS, disabled, {"enabled": False}))
        await here.database.write(partial(store.delete, THEIRS, deleted))
        assert len([row for row in await here.rows("delivery") if row["due_at"]]) == 3

        assert await here.database.read(backlog_of_any_account) == EMPTY

        await wait(here, THEIRS, "b")
        assert await here.database.read(backlog_of_any_account) == Backlog(1, HOUR)

    play(place, story)


def test_deliveries_are_found_by_webhook_and_by_when_they_are_due(tmp_path: Path) -> None:
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as tx:
        watched = Watched(tx)
        backlog_of_any_account(watched)

    (step,) = watched.seen
    assert [line for line in step.plan if "delivery_by_due (account_id=? AND webhook_id=?" in line]
