"""Writes and reads of several callers that share a transaction or run together."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from peewee import SQL

from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.errors import TagAlreadyExists
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.database import Database, Work
from rosterd.server.storage.databases import reading
from rosterd.server.storage.shared_work import SharedWork
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction

from ..postgres import Postgres
from .helpers import OURS
from .opened import TIMEOUT, run

Names = list[str]


async def write_together(database: Database, *works: Work[Any]) -> list[Any]:
    """Queues the works while another write of the account runs. Returns their outcomes."""
    started, done = threading.Event(), threading.Event()

    def block(_tx: Transaction) -> None:
        started.set()
        assert done.wait(TIMEOUT)

    first = asyncio.create_task(database.write(block))
    assert await asyncio.to_thread(started.wait, TIMEOUT)
    tasks = [asyncio.create_task(database.write(work)) for work in works]
    await asyncio.sleep(0.05)
    done.set()
    await first
    return await asyncio.gather(*tasks, return_exceptions=True)


def names(url: str) -> Names:
    with reading(url) as tx:
        return [row.name for row in tags.page(OURS, Page(1, 100), tx)[0]]


def create(name: str, tx: Transaction) -> str:
    return tags.create(OURS, name, "", tx).name


def fail(tx: Transaction) -> None:
    create("of the failed write", tx)
    tx.run(Statement(lambda _: SQL("SELECT no_such_function()")))


class Creation:
    """Creates tags together, and records the names of each run."""

    def __init__(self) -> None:
        self.runs: list[Names] = []

    def work(self, name: str) -> SharedWork[str, str]:
        return SharedWork("creation", name, self._run_all)

    def _run_all(self, each: Sequence[str], tx: Transaction) -> list[str | Exception]:
        self.runs.append(list(each))
        if "broken" in each:
            fail(tx)
        return [TagAlreadyExists() if name == "rejected" else create(name, tx) for name in each]


def test_waiting_work_with_the_same_key_runs_once(url: str) -> None:
    creation = Creation()

    works = [creation.work(name) for name in ("a", "b", "c")]
    outcomes = run(url, lambda database: write_together(database, *works))

    assert outcomes == ["a", "b", "c"]
    assert creation.runs == [["a", "b", "c"]]
    assert names(url) == ["a", "b", "c"]


def test_error_of_one_call_is_raised_to_its_caller_only(url: str) -> None:
    creation = Creation()

    works = [creation.work(name) for name in ("a", "rejected", "c")]
    first, second, third = run(url, lambda database: write_together(database, *works))

    assert (first, third) == ("a", "c")
    assert isinstance(second, TagAlreadyExists)
    assert len(creation.runs) == 1
    assert names(url) == ["a", "c"]


@pytest.mark.parametrize("others", [[], [partial(create, "other")]], ids=["alone", "with others"])
def test_work_that_fails_together_runs_again_one_by_one(url: str, others: list[Work[str]]) -> None:
    creation = Creation()

    works = [creation.work(name) for name in ("a", "broken", "c")]
    first, second, third, *rest = run(url, lambda db: write_together(db, *works, *others))

    assert (first, third, rest) == ("a", "c", ["other"] * len(others))
    assert isinstance(second, Exception)
    assert creation.runs == [["a", "broken", "c"], ["a"], ["broken"], ["c"]]
    assert names(url) == ["a", "c", *rest]


def test_failed_write_has_no_effect_and_others_of_its_transaction_do(url: str) -> None:
    works = [partial(create, "a"), fail, partial(create, "c"), partial(create, "a")]

    first, failed, third, again = run(url, lambda database: write_together(database, *works))

    assert (first, third) == ("a", "c")
    assert isinstance(failed, Exception)
    assert isinstance(again, TagAlreadyExists)
    assert names(url) == ["a", "c"]


def test_write_that_ignores_the_error_of_a_statement_fails_alone(postgres: Postgres) -> None:
    url = postgres.new_roster()

    def ignore(tx: Transaction) -> None:
        with pytest.raises(Exception, match="no_such_function"):
            fail(tx)

    works = [partial(create, "a"), ignore, partial(create, "c")]
    first, failed, third = run(url, lambda database: write_together(database, *works))

    assert (first, third) == ("a", "c")
    assert isinstance(failed, Exception)
    assert names(url) == ["a", "c"]


def test_rolled_back_transaction_repeats_all_of_its_writes_once(postgres: Postgres) -> None:
    url = postgres.new_roster()
    runs: list[str] = []

    def work(name: str, tx: Transaction) -> str:
        runs.append(name)
        create(name, tx)
        if name == "b" and runs.count("b") == 1:
            text = "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"
            tx.run(Statement(lambda _: SQL(text)))
        return name

    works = [partial(work, name) for name in ("a", "b", "c")]
    outcomes = run(url, lambda database: write_together(database, *works))

    assert outcomes == ["a", "b", "c"]
    assert runs == ["a", "b", "a", "b", "c"]
    assert names(url) == ["a", "b", "c"]


def test_locks_of_a_failed_write_are_taken_again(postgres: Postgres) -> None:
    url, other = postgres.new_roster(), "7" * 26

    def locks(tx: Transaction) -> int:
        tags.create(other, "x", "", tx)
        query = SQL(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND mode LIKE 'Excl%%'"
        )
        return int(tx.scalar(Statement(lambda _: query, without_account_lock=True)))

    def fail_elsewhere(tx: Transaction) -> None:
        locks(tx)
        fail(tx)

    _, number = run(url, lambda database: write_together(database, fail_elsewhere, locks))

    assert number == 2
