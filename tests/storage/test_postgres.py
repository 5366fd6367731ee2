"""PostgreSQL: what is done again, what is refused, and what is never acknowledged."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import psycopg
import pytest
from peewee import SQL, PeeweeException
from psycopg.conninfo import conninfo_to_dict

from server.errors import Internal, TagNotFound, Unavailable
from server.paging import Page
from server.storage.database import StorageError
from server.storage.databases import bring_up_to_date, reading, unit_of_work
from server.storage.postgres import commit_timeout
from server.storage.postgres import database as module
from server.storage.postgres.database import PostgresDatabase
from server.storage.postgres.transaction import RolledBack, lock_of
from server.storage.statements import Statement
from server.storage.transaction import Transaction
from server.tags import store as tags

from ..postgres import Postgres
from ..relay import Relay
from .helpers import OURS, THEIRS, select

LONG = 60.0
Scenario = Callable[[PostgresDatabase], Awaitable[None]]


@pytest.fixture(scope="module")
def url(postgres: Postgres) -> str:
    """A database that notices deadlocks soon."""
    made = postgres.new_database()
    bring_up_to_date(made)
    postgres.run(f"ALTER DATABASE {conninfo_to_dict(made)['dbname']} SET deadlock_timeout = '20ms'")
    return made


@pytest.fixture(autouse=True)
def emptied(url: str) -> None:
    """A test begins without tags."""
    with unit_of_work(url) as tx:
        run("DELETE FROM tag", tx)


def run(sql: str, tx: Transaction) -> None:
    """Runs what no store has."""
    tx.run(Statement(lambda _: SQL(sql)))


def options(url: str, text: str) -> str:
    """Returns the URL with settings of the server for its connections."""
    return f"{url}&options={text.replace(' ', '%20').replace('=', '%3D')}"


def play(url: str, scenario: Scenario, connections: int = 4) -> None:
    """Runs a story on a database that is open."""

    async def whole() -> None:
        database = PostgresDatabase(url, connections)
        await database.open()
        try:
            await asyncio.wait_for(scenario(database), LONG)
        finally:
            await database.close()

    asyncio.run(whole())


def names(url: str) -> list[str]:
    """Returns the names of the tags of our account, as somebody else sees them."""
    with reading(url) as tx:
        return [row.name for row in tags.page(OURS, Page(1, 100), tx)[0]]


def create(name: str, account: str = OURS) -> Callable[[Transaction], str]:
    """Work that creates a tag."""
    return lambda tx: tags.create(account, name, "", tx).name


def fails(tx: Transaction, state: str) -> None:
    """Fails as the server does, with this state."""
    run(f"DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '{state}'; END $$", tx)


class Attempts:
    """Work that creates a tag and goes wrong the first times."""

    def __init__(self, wrong: Callable[[Transaction], object], times: int = 1) -> None:
        self.made = 0
        self._wrong, self._times = wrong, times

    def __call__(self, tx: Transaction) -> str:
        self.made += 1
        created = create(f"attempt {self.made} of {self._times + 1}")(tx)
        if self.made <= self._times:
            self._wrong(tx)
        return created


def ends_connection(tx: Transaction) -> None:
    """Has the server cut the connection that this runs on."""
    select("SELECT pg_terminate_backend(pg_backend_pid())", tx)


# What is done again


@pytest.mark.parametrize(
    "wrong",
    [partial(fails, state="40001"), partial(fails, state="40P01"), ends_connection],
    ids=["serialization failure", "deadlock", "connection lost"],
)
def test_what_was_undone_is_done_again_once(
    url: str, wrong: Callable[[Transaction], object]
) -> None:
    once, twice = Attempts(wrong), Attempts(wrong, times=2)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.write(once) == "attempt 2 of 2"
        with pytest.raises(Unavailable):
            await database.write(twice)

    play(url, scenario)
    assert (once.made, twice.made) == (2, 2)
    assert names(url) == ["attempt 2 of 2"]


def test_two_that_wait_for_each_other_both_have_their_effect_once(url: str) -> None:
    both = threading.Barrier(2)
    attempts = []

    def work(first: str, second: str, tx: Transaction) -> None:
        attempts.append(first)
        tags.create(first, f"first of {first}", "", tx)
        if len(attempts) <= 2:
            both.wait(LONG)
        tags.create(second, f"second of {first}", "", tx)

    async def scenario(database: PostgresDatabase) -> None:
        await asyncio.gather(
            database.write(partial(work, OURS, THEIRS)),
            database.write(partial(work, THEIRS, OURS)),
        )

    play(url, scenario)
    assert sorted(attempts) == [OURS, THEIRS, THEIRS] or sorted(attempts) == [OURS, OURS, THEIRS]
    assert names(url) == [f"first of {OURS}", f"second of {THEIRS}"]


def test_read_whose_connection_was_lost_is_done_again(url: str) -> None:
    made = []

    def work(tx: Transaction) -> int:
        made.append(1)
        if len(made) == 1:
            ends_connection(tx)
        return tags.count(OURS, tx)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.read(work) == 0

    play(url, scenario)


def test_idle_connections_that_were_lost_are_replaced(url: str, postgres: Postgres) -> None:
    name = conninfo_to_dict(url)["dbname"]

    async def scenario(database: PostgresDatabase) -> None:
        postgres.run(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        for number in range(8):
            await database.write(create(f"{number}"))
            assert await database.read(lambda tx: tags.count(OURS, tx)) == number + 1

    play(url, scenario)


# What is never acknowledged


def test_connection_that_is_cut_in_the_midst_of_a_commit_is_no_acknowledgement(url: str) -> None:
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
    attempts = Attempts(lambda tx: run("INSERT INTO cut VALUES ('x')", tx))

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(Internal):
            await database.write(attempts)
        assert await database.write(create("next")) == "next"

    play(url, scenario)
    assert (attempts.made, names(url)) == (1, ["next"])


def test_commit_whose_answer_is_lost_is_neither_acknowledged_nor_done_again(url: str) -> None:
    attempts = Attempts(lambda tx: None, times=0)

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.write(create("before")) == "before"
        relay.drop_responses_to(b"COMMIT\0")
        with pytest.raises(Internal):
            await database.write(attempts)
        relay.drop_responses_to(None)
        assert await database.write(create("next")) == "next"

    with Relay(conninfo_to_dict(url)["host"]) as relay:
        play(url.replace(str(conninfo_to_dict(url)["host"]), relay.folder), scenario)

    # It did stand; who asks again finds it there.
    assert (attempts.made, names(url)) == (1, ["attempt 1 of 1", "before", "next"])


def test_commit_that_no_standby_confirms_is_given_up_and_no_acknowledgement(
    url: str, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit_timeout, "COMMIT_SECONDS", 0.1)
    monkeypatch.setattr(commit_timeout, "SWEEP_SECONDS", 0.05)

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(Internal):
            await database.write(create("unconfirmed"))

    postgres.set("synchronous_standby_names", "nobody")
    try:
        play(url, scenario)
    finally:
        postgres.set("synchronous_standby_names", "")

    # Here it stands; after a switch to the standby it might not.
    assert names(url) == ["unconfirmed"]


def test_work_that_hides_a_failed_statement_is_not_acknowledged(url: str) -> None:
    def work(tx: Transaction) -> None:
        create("hidden")(tx)
        with pytest.raises(PeeweeException):
            fails(tx, "22000")

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(RolledBack):
            await database.write(work)

    play(url, scenario)
    assert names(url) == []


def test_work_that_raises_leaves_nothing(url: str) -> None:
    def work(tx: Transaction) -> None:
        create("left over")(tx)
        tags.find(OURS, "0" * 26, tx)

    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises(TagNotFound):
            await database.write(work)

    play(url, scenario)
    assert names(url) == []


# What is bounded


def test_lock_that_is_not_to_be_had_is_waited_for_in_bounds(url: str) -> None:
    async def scenario(database: PostgresDatabase) -> None:
        with psycopg.connect(url) as other:
            other.execute(f"SELECT pg_advisory_xact_lock({lock_of(OURS)})")
            with pytest.raises(Unavailable):
                await database.write(create("late"))
            # Nobody else waits, and nobody who reads.
            await database.write(create("theirs", THEIRS))
            assert await database.read(lambda tx: tags.count(OURS, tx)) == 0
        assert await database.write(create("free")) == "free"

    play(options(url, "-c lock_timeout=50ms"), scenario)
    assert names(url) == ["free"]


def test_statement_that_takes_too_long_is_ended_and_others_get_their_answers(url: str) -> None:
    async def scenario(database: PostgresDatabase) -> None:
        slow = [database.read(partial(select, "SELECT pg_sleep(10)")) for _ in range(2)]
        quick = [database.read(lambda tx: tags.count(OURS, tx)) for _ in range(6)]
        answers = await asyncio.gather(*slow, *quick, return_exceptions=True)
        assert [type(answer) for answer in answers[:2]] == [Unavailable] * 2
        assert answers[2:] == [0] * 6

    play(options(url, "-c statement_timeout=100ms"), scenario, connections=2)


def test_request_that_finds_no_free_connection_in_time_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUEUE_TIMEOUT_SECONDS", 0.05)
    reached, opened = threading.Barrier(3), threading.Event()

    def hold(tx: Transaction) -> None:
        reached.wait(LONG)
        opened.wait(LONG)

    async def scenario(database: PostgresDatabase) -> None:
        held = [asyncio.create_task(database.write(hold)) for _ in range(2)]
        await asyncio.to_thread(reached.wait, LONG)
        with pytest.raises(Unavailable):
            await database.write(create("late"))
        assert await database.read(lambda tx: tags.count(OURS, tx)) == 0
        opened.set()
        await asyncio.gather(*held)

    play(url, scenario)
    assert names(url) == []


def test_process_keeps_to_its_number_of_connections(url: str, postgres: Postgres) -> None:
    name = conninfo_to_dict(url)["dbname"]

    async def scenario(database: PostgresDatabase) -> None:
        await asyncio.gather(*[database.write(create(f"{n}")) for n in range(50)])
        query = f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{name}'"
        assert postgres.run(f"{query} AND application_name = 'roster'") == [(5,)]

    play(url, scenario, connections=5)


# One view, one writer


def test_read_has_one_view_whatever_is_committed_meanwhile(url: str) -> None:
    def work(tx: Transaction) -> list[int]:
        before = tags.count(OURS, tx)
        with unit_of_work(url) as other:
            create("meanwhile")(other)
        return [before, tags.count(OURS, tx)]

    async def scenario(database: PostgresDatabase) -> None:
        assert await database.read(work) == [0, 0]
        assert await database.read(lambda tx: tags.count(OURS, tx)) == 1

    play(url, scenario)


def test_read_that_writes_is_refused(url: str) -> None:
    async def scenario(database: PostgresDatabase) -> None:
        with pytest.raises((PeeweeException, Unavailable)):
            await database.read(create("written"))

    play(url, scenario)
    assert names(url) == []


def test_writer_sees_all_that_the_writer_before_it_did(url: str) -> None:
    """What is looked at and then changed would be lost if two could look at the same time."""

    def work(tx: Transaction) -> None:
        (number,) = select("SELECT count(*) FROM tag", tx)[0]
        create(f"{number:03}")(tx)

    async def scenario(database: PostgresDatabase) -> None:
        lock = Statement(lambda _: SQL("SELECT 1"))

        def locked(tx: Transaction) -> None:
            tx.all(lock, account_id=OURS)
            work(tx)

        await asyncio.gather(*[database.write(locked) for _ in range(60)])

    play(url, scenario, connections=8)
    assert names(url) == [f"{number:03}" for number in range(60)]


# What is refused at the start


def error_response(url: str) -> str:
    """Returns why a database is not served."""

    async def opening() -> None:
        with pytest.raises(StorageError) as caught:
            await PostgresDatabase(url, 2).open()
        said.append(str(caught.value))

    said: list[str] = []
    asyncio.run(opening())
    assert "\n" not in said[0]
    return said[0]


def test_database_that_acknowledges_before_it_has_stored_is_refused(url: str) -> None:
    why = error_response(options(url, "-c synchronous_commit=off"))

    assert "synchronous_commit = off" in why
    assert "ALTER DATABASE" in why


def test_database_of_another_encoding_is_refused(postgres: Postgres) -> None:
    latin = postgres.new_database("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")

    assert "LATIN1" in error_response(latin)


def test_server_that_is_not_there_is_named_and_the_password_is_not() -> None:
    why = error_response("postgresql://ada:secret@127.0.0.1:1/roster")

    assert "127.0.0.1" in why
    assert "secret" not in why


def test_url_that_cannot_be_read_is_refused() -> None:
    assert "colour" in error_response("postgresql://127.0.0.1/roster?colour=green")


def test_of_many_that_migrate_at_once_one_does_and_the_others_wait(postgres: Postgres) -> None:
    fresh = postgres.new_database()

    with ThreadPoolExecutor(6) as pool:
        applied = list(pool.map(bring_up_to_date, [fresh] * 6))

    assert sorted(map(len, applied)) == [0] * 5 + [len(max(applied))]
    assert max(applied)[0].startswith("0001_")
