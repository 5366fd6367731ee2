"""Tests of `roster copy`."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.webhooks.models import Delivery
from rosterd.server.features.webhooks.rules import LEASE_DURATION, DeliveryState
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.sqlite.file import file_lock
from rosterd.server.values.clock import system_clock

from ...features.webhooks.receiver import Receiver
from ...features.webhooks.worker import Location, TestClock, running_worker
from ...processes import start
from ...storage.helpers import SUBSCRIBERS, new
from ..commands import error_line
from .helpers import (
    OLD_SECRET,
    SECRET,
    Databases,
    all_rows,
    change,
    command,
    copy,
    copy_error,
    create_everything,
)


def test_copy_to_postgres_and_back_is_equal(databases: Databases, source: str) -> None:
    server, file = databases.new("postgres"), databases.new("sqlite")

    there, back = copy(source, server), copy(server, file)

    original = all_rows(source)
    assert all(original.values()), "every table has rows"
    assert all_rows(server) == original
    assert all_rows(file) == original
    assert there == back
    assert all(item.source == item.target for item in there)
    assert {item.table: item.source.rows for item in there} == {
        name: len(rows) for name, rows in original.items()
    }


async def test_copy_sends_the_pending_deliveries_of_the_source(
    databases: Databases, receiver: Receiver
) -> None:
    source, target = databases.new("sqlite"), databases.new("postgres")
    change(source, lambda tx: create_everything(tx, 0, receiver.url))
    copy(source, target)

    # The lease of the source has expired by then.
    clock = TestClock(system_clock() + LEASE_DURATION)
    async with running_worker(Location(target, clock)) as worker:
        await worker.wait_for_rows(
            Delivery,
            lambda items: [row["status"] for row in items] == [DeliveryState.SUCCEEDED] * 7,
        )

    names = Counter(
        request.verified(secret)["data"]["tag"]["name"]
        for request in receiver.received
        for secret in (SECRET, OLD_SECRET)
    )
    # The deliveries that were not sent, and the replay, signed with both secrets.
    assert names == {"sent": 2, "failed": 4, "leased": 4, "not expanded": 2}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_databases_of_the_same_kind_are_copied(
    databases: Databases, source: str, kind: str
) -> None:
    first, second = databases.new(kind), databases.new(kind)
    copy(source, first)

    copy(first, second)

    assert all_rows(second) == all_rows(source)


def test_command_prints_every_table_and_the_required_secret_key(
    databases: Databases, tmp_path: Path
) -> None:
    folder = tmp_path / "original"
    folder.mkdir()
    original = start(folder)
    original.stop()
    server = databases.new("postgres", migrated=False)

    done = command(original.database_url, server)

    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    (account,) = [words for words in lines if words[:1] == ["account"]]
    assert (account[1], account[3]) == ("1", "yes")
    assert "ROSTER_SECRET_KEY" in done.stdout
    assert f"{folder}/roster.db.key" in " ".join(done.stdout.split())
    key = (folder / "roster.db.key").read_text().strip()
    again = start(tmp_path, ROSTER_DATABASE_URL=server, ROSTER_SECRET_KEY=key)
    assert again.first_key == ""
    assert again.stop() == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_target_with_other_data_is_not_changed(
    databases: Databases, source: str, kind: str
) -> None:
    target = databases.new(kind)
    change(target, lambda tx: accounts.create_account("eve@example.com", tx, verified=True))
    before = all_rows(target)

    assert "has data in account" in copy_error(source, target)
    assert all_rows(target) == before


def test_finished_copy_is_not_overwritten(databases: Databases, source: str) -> None:
    target = databases.new("sqlite")
    copy(source, target)

    assert "has data in" in copy_error(source, target)


@pytest.mark.parametrize("side_of", ["source", "target"])
def test_served_file_is_rejected(databases: Databases, source: str, side_of: str) -> None:
    served = databases.new("sqlite")
    change(served, lambda _: None)
    with file_lock(Path(served.removeprefix("sqlite:///"))):
        pair = (served, databases.new("sqlite")) if side_of == "source" else (source, served)
        assert f"served by process {os.getpid()}" in copy_error(*pair)


def test_target_of_a_running_copy_is_rejected(databases: Databases, source: str) -> None:
    target = databases.new("postgres")
    copy_errors: list[str] = []

    def copy_again(*_: int) -> None:
        if not copy_errors:
            copy_errors.append(copy_error(databases.copy_of(source), target))

    copy(source, target, copy_again)

    assert "Another copy" in copy_errors[0]


def test_copy_is_a_snapshot_of_a_source_that_changes(databases: Databases, source: str) -> None:
    server, file = databases.new("postgres"), databases.new("sqlite")
    copy(source, server)
    before = all_rows(server)
    account_id = before["account"][0][0]

    def add_subscriber(rows: int, _: int) -> None:
        change(server, lambda tx: SUBSCRIBERS.create(account_id, new(f"late{rows}", "vip"), tx))

    copy(server, file, add_subscriber)

    assert all_rows(file) == before
    assert len(all_rows(server)["subscriber"]) > len(before["subscriber"])


def test_error_names_the_row_that_the_target_cannot_store(databases: Databases) -> None:
    source, target = databases.new("sqlite"), databases.new("postgres")
    with unit_of_work(source) as tx:
        account_id = accounts.create_account("a\0b@example.com", tx, verified=True).id

    assert re.search(f"rows of account, from {account_id} .*NUL", copy_error(source, target))


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("sqlite:///{}/none.db", "sqlite:///{}/b.db", ExitCode.DATABASE),
        ("mysql://host/a", "sqlite:///{}/b.db", ExitCode.USAGE),
        ("sqlite:///{0}/a.db", "sqlite:///{0}/../{1}/a.db", ExitCode.USAGE),
        ("sqlite:///{}/a.db", "postgresql://127.0.0.1:1/roster", ExitCode.DATABASE),
    ],
    ids=["no source", "unknown kind", "same file", "no server"],
)
def test_copy_that_is_not_possible_is_rejected(
    tmp_path: Path, source: str, target: str, code: ExitCode
) -> None:
    if "a.db" in source:
        change(f"sqlite:///{tmp_path}/a.db", lambda _: None)
    urls = [url.format(tmp_path, tmp_path.name) for url in (source, target)]

    error_line(command(*urls), code)

    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_source_without_tables_is_rejected(databases: Databases, kind: str) -> None:
    source = databases.new(kind, migrated=False)
    if kind == "sqlite":
        Path(source.removeprefix("sqlite:///")).touch()

    assert "has no Roster database" in copy_error(source, databases.new("sqlite"))
