"""Tests of resumed copies."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import add_tags
from rosterd.server.features.tags import store as tags
from rosterd.server.features.tags.rules import distinct
from rosterd.server.rpc.paging import Page
from rosterd.server.serving.secret_key import find_keys
from rosterd.server.storage.copy import endpoint
from rosterd.server.storage.copy.copy import Copy
from rosterd.server.storage.copy.opening import open_endpoints
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.sqlite.database import SqliteDatabase
from rosterd.server.storage.transaction import Transaction

from ...storage.helpers import EVERYONE, SUBSCRIBERS, email, list_subscribers, new
from ..commands import in_new_process
from .helpers import (
    BATCH,
    PEOPLE,
    Databases,
    all_rows,
    change,
    copy,
    copy_error,
    create_everything,
    interrupted_copy,
)

# Runs the command line with small batches, and kills the process after a number of batches.
KILLED = f"""
import os, signal, sys
from rosterd.server.storage.copy import endpoint
endpoint.BATCH = {BATCH}
left = int(sys.argv.pop(1))
for kind in (endpoint.SqliteEndpoint, endpoint.PostgresEndpoint):
    def insert(self, table, rows, real=kind.insert):
        global left
        real(self, table, rows)
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
    kind.insert = insert
from rosterd.server.cli import main
main()
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_copy_is_resumed(
    databases: Databases, source: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = databases.new(kind)
    killed = in_new_process("12", "copy", "--from", source, "--to", target, code=KILLED)
    assert killed.returncode == -signal.SIGKILL
    stored: list[int] = []
    for one in (endpoint.SqliteEndpoint, endpoint.PostgresEndpoint):

        def insert(self: Any, table: Any, rows: Any, real: Any = one.insert) -> None:
            stored.append(len(rows))
            real(self, table, rows)

        monkeypatch.setattr(one, "insert", insert)

    copied = copy(source, target)

    # The last batch was rolled back; the earlier ones are stored.
    rows = sum(item.source.rows for item in copied)
    assert 0 < sum(stored) < rows - 3 * BATCH
    assert all_rows(target) == all_rows(source)


def test_changes_of_the_source_between_two_runs_are_copied(
    databases: Databases, source: str
) -> None:
    target = databases.new("postgres")
    interrupted_copy(source, target, PEOPLE + 3 * BATCH)

    def edit(tx: Transaction) -> None:
        (account_id, _) = [row.id for row in accounts.list_accounts(tx)]
        first, second, third = list_subscribers(account_id, tx, EVERYONE, PagePosition(3)).rows
        SUBSCRIBERS.delete(account_id, first.id, tx)
        add_tags(account_id, second.id, distinct(["late"]), tx)
        # Another subscriber takes over this address before the target deletes the previous one.
        SUBSCRIBERS.delete(account_id, third.id, tx)
        SUBSCRIBERS.create(account_id, new(third.email.partition("@")[0]), tx)

    change(source, edit)

    copy(source, target)

    assert all_rows(target) == all_rows(source)


def test_rows_deleted_at_the_end_of_the_source_are_deleted_in_the_copy(
    databases: Databases, source: str
) -> None:
    target = databases.new("postgres")
    interrupted_copy(source, target, 3 * PEOPLE)

    def remove(tx: Transaction) -> None:
        for account in accounts.list_accounts(tx):
            for tag in tags.page(account.id, Page(1, 100), tx)[0]:
                tags.delete(account.id, tag.id, tx)

    change(source, remove)

    copy(source, target)

    assert all_rows(target) == all_rows(source)


def test_addresses_exchanged_between_two_runs_are_copied(databases: Databases, source: str) -> None:
    target = databases.new("postgres")
    interrupted_copy(source, target, 3 * PEOPLE)

    def exchange(tx: Transaction) -> None:
        account_id = accounts.list_accounts(tx)[0].id
        subscriber_rows = list_subscribers(account_id, tx, EVERYONE, PagePosition(200)).rows
        first, last = subscriber_rows[0].id, subscriber_rows[-1].id
        for subscriber, name in ((first, "else"), (last, "ada0"), (first, "ada199")):
            SUBSCRIBERS.update(account_id, subscriber, Changes(email=email(name)), tx)

    change(source, exchange)

    copy(source, target)

    assert all_rows(target) == all_rows(source)


def test_unfinished_copy_is_neither_served_nor_copied(databases: Databases, source: str) -> None:
    target = databases.new("sqlite")
    interrupted_copy(source, target, PEOPLE)
    path = Path(target.removeprefix("sqlite:///"))

    async def serve() -> None:
        database = SqliteDatabase(path)
        await database.open()
        try:
            await find_keys("", path, database)
        finally:
            await database.close()

    with pytest.raises(StorageError, match="unfinished copy"):
        asyncio.run(serve())
    assert "unfinished copy" in copy_error(target, databases.new("sqlite"))


def test_unfinished_copy_of_another_source_is_rejected(databases: Databases, source: str) -> None:
    target, other = databases.new("sqlite"), databases.new("sqlite")
    interrupted_copy(source, target, PEOPLE)
    change(other, lambda tx: create_everything(tx, 0))

    assert source.removeprefix("sqlite:///") in copy_error(other, target)


def test_copy_that_differs_is_reported_and_can_be_repeated(
    databases: Databases, source: str
) -> None:
    target = databases.new("sqlite")
    paths = [url.removeprefix("sqlite:///") for url in (source, target)]
    with open_endpoints(*map(Path, paths)) as (original, copied):

        def corrupt(rows: int, total: int) -> None:
            if rows == total:
                statement = "UPDATE tag SET description = 'x' WHERE name = 'vip'"
                copied.database.execute_sql(statement)

        tables = Copy(original, copied, paths[0], corrupt).run()

    assert [table.table for table in tables if table.source != table.target] == ["tag"]
    assert all(item.source == item.target for item in copy(source, target))
    assert all_rows(target) == all_rows(source)
