"""Tests the deletion of expired stored responses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.maintenance.purge import PurgeIncomplete, purge_old_rows
from rosterd.server.rpc.idempotency import store as responses
from rosterd.server.rpc.idempotency.store import RETENTION_MILLISECONDS, StoredResponseRow, put
from rosterd.server.storage.database import Database
from rosterd.server.storage.postgres.database import PostgresDatabase
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction

from ..clock import ManualClock
from ..postgres import Postgres
from ..storage.conftest import STORES
from ..storage.helpers import select

NOW = 1_767_323_045_006
STORED = StoredResponseRow("fingerprint", b"encrypted response")


PURGE_TWO = partial(responses.purge, limit=2)


async def purge_responses(
    database: Database, purge: Callable[[str, Transaction], int] = PURGE_TWO
) -> int:
    return await purge_old_rows(database, responses.has_old, purge, accounts_per_read=3)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


Store = PostgresDatabase | SqliteDatabase
Body = Callable[[Store], Awaitable[Any]]


def run_on(database: Store, body: Body) -> Any:
    """Runs the body of a test on a database."""

    async def main() -> Any:
        await database.open()
        try:
            return await asyncio.wait_for(body(database), 60)
        finally:
            await database.close()

    return asyncio.run(main())


@pytest.fixture(params=STORES)
def run(request: pytest.FixtureRequest, clock: ManualClock) -> Callable[[Body], Any]:
    """Runs the body of a test on a new database of each kind."""
    if request.param == "sqlite":
        return partial(run_on, SqliteDatabase(request.getfixturevalue("new_file"), clock=clock))
    postgres: Postgres = request.getfixturevalue("postgres")
    return partial(run_on, PostgresDatabase(postgres.new_roster(), 4, clock=clock))


def create_accounts(count: int, responses_per_account: int) -> Callable[[Transaction], list[str]]:

    def work(tx: Transaction) -> list[str]:
        ids = [
            accounts.create_account(f"{n}@example.com", tx, verified=True).id for n in range(count)
        ]
        for account_id in ids:
            for number in range(responses_per_account):
                put(account_id, f"{number}", STORED, tx)
        return ids

    return work


def count_responses(tx: Transaction) -> int:
    return int(select("SELECT COUNT(*) FROM idempotent_response", tx)[0][0])


def test_all_expired_responses_are_deleted_and_the_others_are_not(
    run: Callable[[Body], Any], clock: ManualClock
) -> None:
    async def body(database: Store) -> None:
        ids = await database.write(create_accounts(7, 5))
        clock.now += RETENTION_MILLISECONDS
        # Not expired. Storing it deletes the five expired responses of the account.
        await database.write(lambda tx: put(ids[-1], "late", STORED, tx))

        purged = await purge_responses(database)

        assert purged == 6 * 5

        assert await database.read(count_responses) == 1
        assert await purge_responses(database) == 0

    run(body)


def test_error_in_one_account_does_not_keep_others_from_being_purged(
    run: Callable[[Body], Any],
    clock: ManualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def body(database: Store) -> str:
        first, *_ = await database.write(create_accounts(3, 5))
        clock.now += RETENTION_MILLISECONDS

        def purge(account_id: str, tx: Transaction) -> int:
            if account_id == first:
                raise ArithmeticError
            return responses.purge(account_id, tx)

        with pytest.raises(PurgeIncomplete, match="1 accounts not purged; 10 rows"):
            await purge_responses(database, purge)
        assert await database.read(count_responses) == 5
        return first

    failed = run(body)

    logged = [vars(record).get("accountId") for record in caplog.records]
    assert [account for account in logged if account] == [failed]


def test_concurrent_purges_delete_each_response_once(
    run: Callable[[Body], Any], clock: ManualClock
) -> None:
    async def body(database: Store) -> None:
        await database.write(create_accounts(5, 9))
        clock.now += RETENTION_MILLISECONDS

        both = await asyncio.gather(purge_responses(database), purge_responses(database))

        assert sum(both) == 5 * 9
        assert await database.read(count_responses) == 0

    run(body)
