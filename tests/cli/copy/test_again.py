"""A copy that broke off, and goes on when it is begun again."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from server.accounts import store as accounts
from server.paging import Page
from server.serving.secret_key import open_encryption
from server.storage.copy import endpoint
from server.storage.copy.copy import Copy
from server.storage.copy.table import Sum, Table
from server.storage.database import StorageError
from server.storage.sqlite.database import SqliteDatabase
from server.storage.transaction import Transaction
from server.subscribers.store import Changes, add_tags
from server.subscribers.store_paging import PagePosition
from server.tags import store as tags
from server.tags.rules import distinct

from ...processes import environment
from ...storage.helpers import EVERYONE, SUBSCRIBERS, email, listed, new
from .helpers import BATCH, PEOPLE, Places, broken_off, change, copy, error_response, fill, whole

# Runs the command line with small batches, and dies with the last of so many.
DIES = f"""
import os, signal, sys
from server.storage.copy import endpoint as side
side.BATCH = {BATCH}
left = int(sys.argv.pop(1))
for kind in (side.SqliteEndpoint, side.PostgresEndpoint):
    def insert(self, table, rows, real=kind.insert):
        global left
        real(self, table, rows)
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    kind.insert = insert
from server.cli import main
main()
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_copy_that_was_killed_goes_on_where_it_was(
    places: Places, source: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = places.new(kind)
    killed = subprocess.run(
        [sys.executable, "-c", DIES, "9", "copy", "--from", source, "--to", target],
        env=environment(),
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL
    stored: list[int] = []
    for one in (endpoint.SqliteEndpoint, endpoint.PostgresEndpoint):
        real = one.insert
        monkeypatch.setattr(
            one,
            "insert",
            lambda self, t, rows, real=real: (stored.append(len(rows)), real(self, t, rows)),
        )

    copied = copy(source, target)

    # The batch that was under way when it died is undone; those before it are there.
    rows = sum(each.source.rows for each in copied)
    assert 0 < sum(stored) < rows - 3 * BATCH
    assert whole(target) == whole(source)


def test_what_changed_in_the_source_between_two_runs_is_in_the_copy(
    places: Places, source: str
) -> None:
    target = places.new("postgres")
    broken_off(source, target, PEOPLE + 3 * BATCH)

    def edit(tx: Transaction) -> None:
        (own, _) = [row.id for row in accounts.list_accounts(tx)]
        first, second, third = listed(own, tx, EVERYONE, PagePosition(3)).rows
        SUBSCRIBERS.delete(own, first.id, tx)
        add_tags(own, second.id, distinct(["late"]), tx)
        # Its address goes to another, whom the target has to take beside the old one.
        SUBSCRIBERS.delete(own, third.id, tx)
        SUBSCRIBERS.create(own, new(third.email.partition("@")[0]), tx)

    change(source, edit)

    copy(source, target)

    assert whole(target) == whole(source)


def test_what_is_gone_from_the_end_of_the_source_is_gone_from_the_copy(
    places: Places, source: str
) -> None:
    target = places.new("postgres")
    broken_off(source, target, 3 * PEOPLE)

    def remove(tx: Transaction) -> None:
        for account in accounts.list_accounts(tx):
            for tag in tags.page(account.id, Page(1, 100), tx)[0]:
                tags.delete(account.id, tag.id, tx)

    change(source, remove)

    copy(source, target)

    assert whole(target) == whole(source)


def test_address_that_two_have_exchanged_between_two_runs_is_taken(
    places: Places, source: str
) -> None:
    target = places.new("postgres")
    broken_off(source, target, 3 * PEOPLE)

    def exchange(tx: Transaction) -> None:
        own = accounts.list_accounts(tx)[0].id
        found = listed(own, tx, EVERYONE, PagePosition(200)).rows
        first, last = found[0].id, found[-1].id
        for subscriber, name in ((first, "else"), (last, "ada0"), (first, "ada199")):
            SUBSCRIBERS.update(own, subscriber, Changes(email=email(name)), tx)

    change(source, exchange)

    copy(source, target)

    assert whole(target) == whole(source)


def test_unfinished_copy_is_neither_served_nor_copied(places: Places, source: str) -> None:
    target = places.new("sqlite")
    broken_off(source, target, PEOPLE)
    path = Path(target.removeprefix("sqlite:///"))

    async def serve() -> None:
        database = SqliteDatabase(path)
        await database.open()
        try:
            await open_encryption("", path, database)
        finally:
            await database.close()

    with pytest.raises(StorageError, match="unfinished copy"):
        asyncio.run(serve())
    assert "unfinished copy" in error_response(target, places.new("sqlite"))


def test_unfinished_copy_of_another_is_refused(places: Places, source: str) -> None:
    target, other = places.new("sqlite"), places.new("sqlite")
    broken_off(source, target, PEOPLE)
    change(other, lambda tx: fill(tx, 0))

    assert source.removeprefix("sqlite:///") in error_response(other, target)


def test_copy_that_is_not_what_was_there_is_told_and_not_finished(
    places: Places, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, real = places.new("sqlite"), Copy._fill

    def fill(self: Copy, tables: list[Table]) -> dict[Table, Sum]:
        sums = real(self, tables)
        self._target.database.execute_sql("UPDATE tag SET description = 'x' WHERE name = 'vip'")
        return sums

    with monkeypatch.context() as patch:
        patch.setattr(Copy, "_fill", fill)
        wrong = [each for each in copy(source, target) if each.source != each.target]

    assert [each.table for each in wrong] == ["tag"]
    # The same command puts it right.
    assert all(each.source == each.target for each in copy(source, target))
    assert whole(target) == whole(source)
