"""Stored responses of idempotency keys: retention, scope and encryption."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from roster.v1 import api_keys_pb2 as pb
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    IdempotentResponseErased,
    TagAlreadyExists,
)
from rosterd.server.rpc.idempotency import idempotent_database
from rosterd.server.rpc.idempotency.idempotent_database import IdempotentDatabase, Request
from rosterd.server.rpc.idempotency.store import (
    RUNNING_MILLISECONDS,
    StoredResponseRow,
    erase,
    find,
    keys_naming,
    mark_running,
    put,
)
from rosterd.server.security.encryption import DecryptionError, Encryption
from rosterd.server.storage.database import Database
from rosterd.server.storage.postgres.database import PostgresDatabase
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction

from ..clock import ManualClock
from ..postgres import Postgres
from .conftest import STORES
from .helpers import ENCRYPTION, OURS, THEIRS, select

NOW = 1_767_323_045_006
HOUR = 3_600_000
STORED = StoredResponseRow("fingerprint", b"encrypted response")
SECRET = "rk_a_secret_that_is_stored_nowhere"


@pytest.fixture(autouse=True)
def set_clock(tx: Transaction) -> None:
    """Sets the time of the transaction, which a test advances."""
    tx.now = NOW


def keys(tx: Transaction, account: str = OURS) -> set[str]:
    """Returns the keys of all stored responses of an account, including expired ones."""
    rows = select(f"SELECT key FROM idempotent_response WHERE account_id = '{account}'", tx)
    return {key for (key,) in rows}


def test_expired_key_can_be_used_again_among_many_older_keys(tx: Transaction) -> None:
    for number in range(30):
        tx.now = NOW + number
        put(OURS, f"{number}", STORED, tx)
    tx.now = NOW + 48 * HOUR

    put(OURS, "29", StoredResponseRow("another", b"other"), tx)

    assert find(OURS, "29", tx) == ("another", b"other")
    assert find(OURS, "28", tx) is None


def test_each_new_response_deletes_up_to_ten_expired_ones(tx: Transaction) -> None:
    for number in range(25):
        tx.now = NOW + number
        put(OURS, f"{number:02}", STORED, tx)
    tx.now = NOW + 24 * HOUR + 24

    left = []
    for number in range(4):
        put(OURS, f"new {number}", STORED, tx)
        left.append(sorted(key for key in keys(tx) if not key.startswith("new")))

    assert [len(names) for names in left] == [15, 5, 0, 0]
    assert left[0][0] == "10"
    assert len(keys(tx)) == 4


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


Scenario = Callable[[IdempotentDatabase], Awaitable[Any]]


def run_scenario(database: Database, scenario: Scenario) -> Any:
    """Runs a scenario on an open database and returns its result."""

    async def whole() -> Any:
        once = IdempotentDatabase(database, ENCRYPTION)
        await once.open()
        try:
            return await asyncio.wait_for(scenario(once), 60)
        finally:
            await once.close()

    return asyncio.run(whole())


@pytest.fixture(params=STORES)
def run_on_database(
    request: pytest.FixtureRequest, clock: ManualClock
) -> Callable[[Scenario], Any]:
    """Runs a scenario on an empty database of each type."""
    if request.param == "sqlite":
        return partial(
            run_scenario, SqliteDatabase(request.getfixturevalue("new_file"), clock=clock)
        )
    postgres: Postgres = request.getfixturevalue("postgres")
    return partial(run_scenario, PostgresDatabase(postgres.new_roster(), 2, clock=clock))


def request(key: str = "key", fingerprint: str = "first", account: str = OURS) -> Request:
    return Request(account, key, fingerprint, pb.CreateApiKeyResponse.FromString)


def work(name: str) -> Callable[[Transaction], pb.CreateApiKeyResponse]:
    """Returns work that creates a tag and returns a secret."""

    def create(tx: Transaction) -> pb.CreateApiKeyResponse:
        tag = tags.create(OURS, name, "", tx)
        return pb.CreateApiKeyResponse(secret=f"{SECRET} {tag.id}")

    return create


@contextmanager
def running(database: IdempotentDatabase, request: Request) -> Iterator[None]:
    """Runs a block as part of a request."""
    database.enter(request)
    try:
        yield
    finally:
        database.leave(request)


async def call(
    database: IdempotentDatabase, name: str, current_request: Request
) -> pb.CreateApiKeyResponse:
    """Executes the work of a request."""
    with running(database, current_request):
        return await database.write(work(name))


async def number_of_tags(database: IdempotentDatabase) -> int:
    return await database.read(lambda tx: tags.count(OURS, tx))


def test_key_with_another_request_is_rejected_for_24_hours(
    run_on_database: Callable[[Scenario], Any], clock: ManualClock
) -> None:
    async def scenario(database: IdempotentDatabase) -> None:
        await call(database, "a", request())
        with pytest.raises(IdempotencyKeyReused):
            await call(database, "b", request(fingerprint="another"))
        assert await number_of_tags(database) == 1

        clock.now += 24 * HOUR
        await call(database, "b", request(fingerprint="another"))
        assert await number_of_tags(database) == 2

    run_on_database(scenario)


def test_key_of_a_running_request_is_in_use_until_it_ends(
    run_on_database: Callable[[Scenario], Any],
) -> None:
    async def scenario(database: IdempotentDatabase) -> None:
        with running(database, request()):
            with pytest.raises(IdempotencyKeyInUse):
                await call(database, "a", request())
            await asyncio.gather(
                call(database, "b", request("other")),
                call(database, "c", request(account=THEIRS)),
            )
        await call(database, "a", request())
        assert await number_of_tags(database) == 3

    run_on_database(scenario)


def create_and_return_id(name: str) -> Callable[[Transaction], str]:
    """Returns the work that precedes an effect outside of the database."""

    def begin(tx: Transaction) -> str:
        return tags.create(OURS, name, "", tx).id

    return begin


@pytest.mark.parametrize("fingerprint", ["first", "another"])
def test_key_is_in_use_for_every_process_between_begin_and_conclude(
    run_on_database: Callable[[Scenario], Any], clock: ManualClock, fingerprint: str
) -> None:
    async def scenario(database: IdempotentDatabase) -> None:
        with running(database, request()):
            await database.begin(create_and_return_id("a"))
        # The process no longer tracks the request.
        with (
            running(database, request(fingerprint=fingerprint)),
            pytest.raises(IdempotencyKeyInUse),
        ):
            await database.begin(create_and_return_id("b"))
        assert await number_of_tags(database) == 1

        with running(database, request()):
            response = await database.conclude(work("c"))
        again = request()
        with running(database, again):
            assert await database.begin(create_and_return_id("d")) == response
        assert again.replayed
        clock.now += 24 * HOUR - 1
        with pytest.raises(IdempotencyKeyReused):
            await call(database, "e", request(fingerprint="another"))

    run_on_database(scenario)


def test_key_of_a_request_in_an_ended_process_is_free_after_a_minute(
    run_on_database: Callable[[Scenario], Any], clock: ManualClock
) -> None:
    async def scenario(database: IdempotentDatabase) -> None:
        with running(database, request()):
            await database.begin(create_and_return_id("a"))
        clock.now += RUNNING_MILLISECONDS - 1
        with running(database, request()), pytest.raises(IdempotencyKeyInUse):
            await database.begin(create_and_return_id("b"))
        clock.now += 1
        with running(database, request()):
            assert isinstance(await database.begin(create_and_return_id("c")), str)

    run_on_database(scenario)


def test_key_is_free_after_a_failed_conclusion(run_on_database: Callable[[Scenario], Any]) -> None:
    async def scenario(database: IdempotentDatabase) -> None:
        with running(database, request()):
            await database.begin(create_and_return_id("a"))
            with pytest.raises(TagAlreadyExists):
                await database.conclude(work("A"))

        await call(database, "b", request(fingerprint="another"))

    run_on_database(scenario)


def test_erasing_removes_the_responses_that_can_name_the_person_and_keeps_their_keys(
    tx: Transaction,
) -> None:
    for key, persons in {"ada": "e5e a1a", "earlier": None, "eve": "e5e", "": ""}.items():
        put(OURS, key, STORED, tx, persons)
    mark_running(OURS, "running", "fingerprint", tx)
    put(THEIRS, "earlier", STORED, tx, None)

    erase(OURS, keys_naming(OURS, "a1a", 0, tx), tx)

    erased = [row for key in ("ada", "earlier") if (row := find(OURS, key, tx)) is not None]
    assert [(row.is_erased, row.fingerprint) for row in erased] == [(True, "")] * 2
    assert {find(OURS, key, tx) for key in ("eve", "")} == {find(THEIRS, "earlier", tx)} == {STORED}
    running = find(OURS, "running", tx)
    assert running is not None
    assert running.is_running


def test_response_that_names_very_many_persons_can_name_anyone(
    run_on_database: Callable[[Scenario], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotent_database, "_MAX_PERSONS", 1)
    message = pb.CreateApiKeyRequest(name="ada@example.com, eve@example.com")

    async def scenario(database: IdempotentDatabase) -> None:
        first = replace(request(), message=message)
        await call(database, "a", first)
        await database.write(lambda tx: database.erase(OURS, ["bob@example.com"], set(), tx))
        with pytest.raises(IdempotentResponseErased):
            await call(database, "b", replace(first, fingerprint="another"))

    run_on_database(scenario)


def test_stored_response_is_not_readable_without_the_key(
    tmp_path: Path, clock: ManualClock
) -> None:
    file = SqliteDatabase(tmp_path / "once.db", clock=clock)
    response: pb.CreateApiKeyResponse = run_scenario(file, lambda once: call(once, "a", request()))
    assert response.secret.startswith(SECRET)

    connection = apsw.Connection(str(tmp_path / "once.db"))
    (row,) = connection.execute("SELECT * FROM idempotent_response").fetchall()
    connection.close()

    assert [file.name for file in tmp_path.iterdir() if SECRET.encode() in file.read_bytes()] == []
    encrypted = next(value for value in row if isinstance(value, bytes))
    purpose_arguments = (str(row[0]), str(row[1]))
    opened = ENCRYPTION.open("kept answer", encrypted, *purpose_arguments)
    assert pb.CreateApiKeyResponse.FromString(opened) == response
    for purpose, encryption in (
        ("kept answer", Encryption(bytes(32))),
        ("suppression", ENCRYPTION),
    ):
        with pytest.raises(DecryptionError):
            encryption.open(purpose, encrypted, *purpose_arguments)
    with pytest.raises(DecryptionError):
        ENCRYPTION.open("kept answer", encrypted, purpose_arguments[0], "another key")
