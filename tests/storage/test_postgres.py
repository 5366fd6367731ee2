"""PostgresDatabase: retries, acknowledgment, limits, isolation and startup checks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial

import psycopg
import pytest
from peewee import SQL, PeeweeException
from psycopg.conninfo import conninfo_to_dict

from rosterd.server.features.tags import store as tags
from rosterd.server.rpc import caller
from rosterd.server.rpc.errors import Internal, Unavailable
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.database import SchemaTooNew, StorageError
from rosterd.server.storage.databases import bring_up_to_date, reading, unit_of_work
from rosterd.server.storage.postgres import database as module
from rosterd.server.storage.postgres import running
from rosterd.server.storage.postgres.connection import open_database, without_services
from rosterd.server.storage.postgres.database import PostgresDatabase
from rosterd.server.storage.postgres.transaction import lock_of
from rosterd.server.storage.schema_version import EXCLUDE_WRITES
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from ..postgres import Postgres
from ..relay import Relay
from .helpers import OURS, THEIRS, select

TIMEOUT = 60.0
MANY_TAGS = f"""
INSERT INTO tag (account_id, id, name, name_key, description, created_at)
    SELECT '{OURS}', number::text, number::text, number::text, '', 0
    FROM generate_series(1, 20000) AS number
"""
Scenario = Callable[[PostgresDatabase], Awaitable[None]]


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> str:
    """A database with a short deadlock_timeout."""
    url = postgres.new_roster()
    postgres.run(f"ALTER DATABASE {conninfo_to_dict(url)['dbname']} SET deadlock_timeout = '20ms'")
    return url


@pytest.fixture(autouse=True)
def delete_tags(url: str) -> None:
    with unit_of_work(url) as tx:
        run("DELETE FROM tag", tx)


def run(sql: str, tx: Transaction) -> None:
    tx.run(Statement(lambda _: SQL(sql)))


def options(url: str, text: str) -> str:
    """Returns the URL with server settings for its connections."""
    return f"{url}&options={text.replace(' ', '%20').replace('=', '%3D')}"


def run_scenario(url: str, scenario: Scenario, connections: int = 4) -> None:
    """Runs a scenario on an open database."""

    async def whole() -> None:
        database = PostgresDatabase(url, connections)
        await database.open()
        try:
            await asyncio.wait_for(scenario(database), TIMEOUT)
        finally:
            await database.close()

    asyncio.run(whole())


def names(url: str) -> list[str]:
    """Returns the names of the tags as another connection reads them."""
    with reading(url) as tx:
        return [row.name for row in tags.page(OURS, Page(1, 100), tx)[0]]


def create(name: str, account: str = OURS) -> Callable[[Transaction], str]:
    """Returns work that creates a tag."""
    return lambda tx: tags.create(account, name, "", tx).name


def raise_sqlstate(tx: Transaction, state: str) -> None:
    """Raises a server error with this SQLSTATE."""
    run(f"DO $$ BEGIN RAISE EXCEPTION 'raised by a test' USING ERRCODE = '{state}'; END $$", tx)


class FailingWork:
    """Work that creates a tag and fails the given number of times."""

    def __init__(self, wrong: Callable[[Transaction], object], times: int = 1) -> None:
        self.attempts = 0
        self._wrong, self._times = wrong, times

    def __call__(self, tx: Transaction) -> str:
        self.attempts += 1
        created = create(f"attempt {self.attempts} of {self._times + 1}")(tx)
        if self.attempts <= self._times:
            self._wrong(tx)
        return created


def terminate_connection(tx: Transaction) -> None:
    """Makes the server terminate this connection."""
    select("SELECT pg_terminate_backend(pg_backend_pid())", tx)


@pytest.mark.parametrize(
    "wrong",
    [
        partial(raise_sqlstate, state="40001"),
        partial(raise_sqlstate, state="40P01"),
        terminate_connection,
    ],
    ids=["serialization failure", "deadlock", "connection lost"],
)
def test_rolled_back_transaction_is_retried_once(
    url: str, wrong: Callable[[Transaction], object]
) -> None:
    once, twice = FailingWork(wrong), FailingWork(wrong, times=2)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.write(once) == "attempt 2 of 2"
        with pytest.raises(Unavailable):
            await database.write(twice)

    run_scenario(url, scenario)
    assert (once.attempts, twice.attempts) == (2, 2)
    assert names(url) == ["attempt 2 of 2"]


def test_deadlocked_transactions_each_take_effect_once(url: str) -> None:
    both = threading.Barrier(2)
    attempts = []

    def work(first: str, second: str, tx: Transaction) -> None:
        attempts.append(first)
        tags.create(first, f"first of {first}", "", tx)
        if len(attempts) <= 2:
            both.wait(TIMEOUT)
        tags.create(second, f"second of {first}", "", tx)

    async def scenario(database: PostgresDatabase) -> None:
        await asyncio.gather(
            database.write(partial(work, OURS, THEIRS)), database.write(partial(work, THEIRS, OURS))
        )

    run_scenario(url, scenario)
    assert sorted(attempts) == [OURS, THEIRS, THEIRS] or sorted(attempts) == [OURS, OURS, THEIRS]
    assert names(url) == [f"first of {OURS}", f"second of {THEIRS}"]


def test_write_that_waits_for_a_contracting_migration_is_rejected_after_it(url: str) -> None:
    reported: list[SchemaTooNew] = []

    async def scenario(database: PostgresDatabase) -> None:
        database.on_outdated = reported.append
        with psycopg.connect(url) as migrating:
            migrating.execute(f"SELECT {EXCLUDE_WRITES}")
            migrating.execute("UPDATE schema_version SET minimum_version = 9999")
            writing = asyncio.create_task(database.write(create("late")))
            await asyncio.sleep(0.2)
            assert not writing.done()
        with pytest.raises(Unavailable):
            await writing
        with pytest.raises(Unavailable):
            await database.write(Transaction.ping)
        assert await database.read(partial(tags.count, OURS)) == 0
        await asyncio.sleep(0)

    try:
        run_scenario(url, scenario)
        with pytest.raises(SchemaTooNew):
            bring_up_to_date(url)
    finally:
        with psycopg.connect(url) as connection:
            connection.execute("UPDATE schema_version SET minimum_version = 0")
    assert "schema version 9999 or later" in str(reported[0])
    assert names(url) == []


def test_read_is_retried_after_its_connection_was_lost(url: str) -> None:
    attempts = []

    def work(tx: Transaction) -> int:
        attempts.append(1)
        if len(attempts) == 1:
            terminate_connection(tx)
        return tags.count(OURS, tx)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.read(work) == 0

    run_scenario(url, scenario)


def test_connection_lost_during_the_commit_is_not_acknowledged(url: str) -> None:
    with unit_of_work(url) as tx:
        run("CREATE TABLE cut (id TEXT)", tx)
        run(
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$",
            tx,
        )
        run(
            "CREATE CONSTRAINT TRIGGER cut AFTER INSERT ON cut DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION cut()",
            tx,
        )
    attempts = FailingWork(lambda tx: run("INSERT INTO cut VALUES ('x')", tx))

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(Internal):
            await database.write(attempts)
        assert await database.write(create("next")) == "next"

    run_scenario(url, scenario)
    assert (attempts.attempts, names(url)) == (1, ["next"])


def test_commit_with_a_lost_response_is_neither_acknowledged_nor_retried(url: str) -> None:
    attempts = FailingWork(lambda tx: None, times=0)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.write(create("before")) == "before"
        relay.drop_responses_to(b"COMMIT\0")
        with pytest.raises(Internal):
            await database.write(attempts)
        relay.drop_responses_to(None)
        assert await database.write(create("next")) == "next"

    with Relay(conninfo_to_dict(url)["host"]) as relay:
        run_scenario(url.replace(str(conninfo_to_dict(url)["host"]), relay.folder), scenario)

    # The commit took effect. A retry by the client finds its result.
    assert (attempts.attempts, names(url)) == (1, ["attempt 1 of 1", "before", "next"])


def test_commit_that_no_standby_confirms_times_out_without_acknowledgement(
    url: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "COMMIT_SECONDS", 0.1)
    monkeypatch.setattr(running, "SWEEP_SECONDS", 0.05)

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(Internal):
            await database.write(create("unconfirmed"))

    postgres.set("synchronous_standby_names", "missing_standby")
    try:
        run_scenario(url, scenario)
    finally:
        postgres.set("synchronous_standby_names", "")

    # The commit is stored here, but a failover to the standby could lose it.
    assert names(url) == ["unconfirmed"]


def test_writes_of_an_account_that_wait_form_its_next_transaction(url: str) -> None:
    started, done = threading.Event(), threading.Event()

    def block(_tx: Transaction) -> None:
        started.set()
        done.wait(TIMEOUT)

    def transaction_id(tx: Transaction) -> int:
        return int(select("SELECT txid_current()", tx)[0][0])

    async def scenario(database: PostgresDatabase) -> None:
        caller.enter_account(OURS)
        first = asyncio.create_task(database.write(block))
        await asyncio.to_thread(started.wait, TIMEOUT)
        waiting = [asyncio.create_task(database.write(transaction_id)) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in waiting)
        done.set()
        assert len(set(await asyncio.gather(*waiting))) == 1
        await first

    run_scenario(url, scenario, connections=6)


def test_wait_for_a_lock_is_bounded(url: str) -> None:
    async def scenario(database: PostgresDatabase) -> None:
        with psycopg.connect(url) as other:
            other.execute(f"SELECT pg_advisory_xact_lock({lock_of(OURS)})")
            with pytest.raises(Unavailable):
                await database.write(create("late"))
            # Other accounts and reads do not wait.
            await database.write(create("theirs", THEIRS))
            assert await database.read(lambda tx: tags.count(OURS, tx)) == 0
        assert await database.write(create("free")) == "free"

    run_scenario(options(url, "-c lock_timeout=50ms"), scenario)
    assert names(url) == ["free"]


def test_request_without_a_free_connection_in_time_is_rejected(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUEUE_TIMEOUT_SECONDS", 0.5)
    reached, opened = threading.Barrier(3), threading.Event()

    def hold(tx: Transaction) -> None:
        reached.wait(TIMEOUT)
        opened.wait(TIMEOUT)

    async def scenario(database: PostgresDatabase) -> None:
        held = [asyncio.create_task(database.write(hold)) for _ in range(2)]
        await asyncio.to_thread(reached.wait, TIMEOUT)
        with pytest.raises(Unavailable):
            await database.write(create("late"))
        assert await database.read(lambda tx: tags.count(OURS, tx)) == 0
        opened.set()
        await asyncio.gather(*held)

    run_scenario(url, scenario)
    assert names(url) == []


def test_plans_are_made_again_while_the_tables_grow(url: str) -> None:
    planned_once = Statement(lambda _: SQL("SELECT id FROM tag"), has_one_plan=True)
    name_of = "SELECT name FROM pg_prepared_statements WHERE statement = 'SELECT id FROM tag'"

    def expected_rows(tx: Transaction) -> int:
        ((name,),) = tx.all(Statement(lambda _: SQL(name_of)))
        ((plan, *_), *_) = tx.all(Statement(lambda _: SQL(f"EXPLAIN EXECUTE {name}")))
        return int(plan.partition("rows=")[2].partition(" ")[0])

    async def scenario(database: PostgresDatabase) -> None:
        await database.write(lambda tx: tx.all(planned_once))
        before = await database.write(expected_rows)
        await database.write(partial(run, MANY_TAGS))
        for _ in range(8):
            await database.write(lambda tx: tx.all(planned_once))
        assert await database.write(expected_rows) > 2 * before

    run_scenario(url, scenario, connections=1)


def test_read_uses_one_snapshot(url: str) -> None:
    def work(tx: Transaction) -> list[int]:
        before = tags.count(OURS, tx)
        with unit_of_work(url) as other:
            create("meanwhile")(other)
        return [before, tags.count(OURS, tx)]

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.read(work) == [0, 0]
        assert await database.read(lambda tx: tags.count(OURS, tx)) == 1

    run_scenario(url, scenario)


def test_write_in_a_read_is_rejected(url: str) -> None:
    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises((PeeweeException, Unavailable)):
            await database.read(create("written"))

    run_scenario(url, scenario)
    assert names(url) == []


def test_writer_reads_all_changes_of_the_previous_writer(url: str) -> None:
    """Without this, an update that depends on an earlier read could be lost."""

    def work(tx: Transaction) -> None:
        (number,) = select("SELECT count(*) FROM tag", tx)[0]
        create(f"{number:03}")(tx)

    async def scenario(database: PostgresDatabase) -> None:
        lock = Statement(lambda _: SQL("SELECT 1"))

        def locked(tx: Transaction) -> None:
            tx.all(lock, account_id=OURS)
            work(tx)

        await asyncio.gather(*[database.write(locked) for _ in range(60)])

    run_scenario(url, scenario, connections=8)
    assert names(url) == [f"{number:03}" for number in range(60)]


def opening_error(url: str) -> str:
    """Returns the error of opening a database."""

    async def opening() -> None:
        with pytest.raises(StorageError) as caught:
            await PostgresDatabase(url, 2).open()
        message.append(str(caught.value))

    message: list[str] = []
    asyncio.run(opening())
    assert "\n" not in message[0]
    return message[0]


def test_asynchronous_commit_is_rejected(url: str) -> None:
    why = opening_error(options(url, "-c synchronous_commit=off"))

    assert "synchronous_commit = off" in why
    assert "ALTER DATABASE" in why


def test_exclusive_work_and_other_connections_exclude_each_other(url: str) -> None:
    with open_database(url) as exclusive:
        with (
            open_database(url),
            pytest.raises(StorageError, match="in use"),
            without_services(exclusive),
        ):
            pass
        with (
            without_services(exclusive),
            pytest.raises(StorageError, match="being distributed"),
            open_database(url),
        ):
            pass
        with open_database(url):
            pass
