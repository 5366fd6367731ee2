"""The purge of kept answers: all whose time is over, of every account, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from server.accounts import store as accounts
from server.idempotency import store as answers
from server.idempotency.store import RETENTION_MILLISECONDS, StoredResponseRow, put
from server.maintenance import purge
from server.maintenance.purge import purge_responses
from server.storage.postgres.database import PostgresDatabase
from server.storage.sqlite.database import SqliteDatabase
from server.storage.transaction import Transaction

from ..postgres import Postgres
from ..storage.conftest import STORES
from ..storage.helpers import select

NOW = 1_767_323_045_006
STORED = StoredResponseRow("fingerprint", b"sealed answer")


class Moments:
    """A clock that a test moves."""

    now = NOW

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Moments:
    return Moments()


Store = PostgresDatabase | SqliteDatabase
Story = Callable[[Store], Awaitable[Any]]


def played(database: Store, story: Story) -> Any:
    """Runs a story on a database."""

    async def whole() -> Any:
        await database.open()
        try:
            return await asyncio.wait_for(story(database), 20)
        finally:
            await database.close()

    return asyncio.run(whole())


@pytest.fixture(params=STORES)
def play(request: pytest.FixtureRequest, clock: Moments) -> Callable[[Story], Any]:
    """Runs a story on a fresh database of each kind in turn."""
    if request.param == "sqlite":
        return partial(played, SqliteDatabase(request.getfixturevalue("new_file"), clock=clock))
    postgres: Postgres = request.getfixturevalue("postgres")
    return partial(played, PostgresDatabase(postgres.new_roster(), 4, clock=clock))


def fill(count: int, each: int) -> Callable[[Transaction], list[str]]:
    """Makes accounts with so many answers each."""

    def work(tx: Transaction) -> list[str]:
        ids = [
            accounts.create_account(f"{n}@example.com", tx, verified=True).id for n in range(count)
        ]
        for account_id in ids:
            for number in range(each):
                put(account_id, f"{number}", STORED, tx)
        return ids

    return work


def left(tx: Transaction) -> int:
    """Returns how many answers there are."""
    return int(select("SELECT COUNT(*) FROM kept_answer", tx)[0][0])


def test_all_answers_whose_time_is_over_go_and_the_others_stay(
    play: Callable[[Story], Any], clock: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge, "ACCOUNTS_AT_ONCE", 3)
    monkeypatch.setattr(answers, "PURGE_BATCH_SIZE", 2)

    async def story(database: Store) -> None:
        ids = await database.write(fill(7, 5))
        clock.now += RETENTION_MILLISECONDS
        # In time, and beside five that are not; to keep it took these away.
        await database.write(lambda tx: put(ids[-1], "late", STORED, tx))

        assert await purge_responses(database) == 6 * 5

        assert await database.read(left) == 1
        assert await purge_responses(database) == 0

    play(story)


def test_answers_in_time_are_left_alone(play: Callable[[Story], Any], clock: Moments) -> None:
    async def story(database: Store) -> None:
        await database.write(fill(2, 3))
        clock.now += RETENTION_MILLISECONDS - 1

        assert await purge_responses(database) == 0
        assert await database.read(left) == 6

    play(story)


def test_two_at_once_take_away_each_answer_once(
    play: Callable[[Story], Any], clock: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PURGE_BATCH_SIZE", 2)

    async def story(database: Store) -> None:
        await database.write(fill(5, 9))
        clock.now += RETENTION_MILLISECONDS

        both = await asyncio.gather(purge_responses(database), purge_responses(database))

        assert sum(both) == 5 * 9
        assert await database.read(left) == 0

    play(story)


def test_each_transaction_is_of_one_account_and_takes_a_bounded_number(
    play: Callable[[Story], Any], clock: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "PURGE_BATCH_SIZE", 4)
    seen: list[tuple[str, int]] = []
    real = answers.purge

    def noted(account_id: str, tx: Transaction) -> int:
        done = real(account_id, tx)
        seen.append((account_id, done))
        assert tx.statements == 1
        return done

    async def story(database: Store) -> None:
        ids = await database.write(fill(2, 9))
        clock.now += RETENTION_MILLISECONDS
        monkeypatch.setattr(answers, "purge", noted)

        await purge_responses(database)

        assert seen == [(own, done) for own in ids for done in (4, 4, 1)]

    play(story)
