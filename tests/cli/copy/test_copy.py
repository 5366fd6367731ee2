"""roster copy: everything of one database in another, and what cannot be copied."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from server.accounts import store as accounts
from server.clock import system_clock
from server.console import ExitCode
from server.storage.databases import unit_of_work
from server.storage.sqlite.file import FileLock
from server.webhooks.models import Delivery
from server.webhooks.rules import LEASE_DURATION, DeliveryStatus

from ...processes import start
from ...storage.helpers import SUBSCRIBERS, new
from ...webhooks.receiver import Receiver
from ...webhooks.worker import DatabaseLocation, TestClock, running_worker
from ..test_commands import complaint
from .helpers import OLD_SECRET, SECRET, Places, change, command, copy, error_response, fill, whole


def test_everything_is_there_and_back_again(places: Places, source: str) -> None:
    server, file = places.new("postgres"), places.new("sqlite")

    there, back = copy(source, server), copy(server, file)

    original = whole(source)
    assert all(original.values()), "the source has something of everything"
    assert whole(server) == original
    assert whole(file) == original
    assert there == back
    assert all(each.source == each.target for each in there)
    assert {each.table: each.source.rows for each in there} == {
        name: len(rows) for name, rows in original.items()
    }


def test_copy_delivers_what_the_source_had_not(places: Places, receiver: Receiver) -> None:
    source, target = places.new("sqlite"), places.new("postgres")
    change(source, lambda tx: fill(tx, 0, receiver.url))
    copy(source, target)

    async def run() -> None:
        # What is being sent is given up for lost by then.
        clock = TestClock(system_clock() + LEASE_DURATION)
        async with running_worker(DatabaseLocation(target, clock)) as worker:
            await worker.wait_for_rows(
                Delivery,
                lambda found: [row["status"] for row in found] == [DeliveryStatus.SUCCEEDED] * 7,
            )

    asyncio.run(run())

    names = Counter(
        request.verified(secret)["data"]["tag"]["name"]
        for request in receiver.received
        for secret in (SECRET, OLD_SECRET)
    )
    # Each by itself, if it was not sent, and in the replay; with both secrets.
    assert names == {"sent": 2, "failed": 4, "being sent": 4, "not looked at": 2}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_databases_of_a_kind_are_copied_too(places: Places, source: str, kind: str) -> None:
    first, second = places.new(kind), places.new(kind)
    copy(source, first)

    copy(first, second)

    assert whole(second) == whole(source)


def test_command_tells_every_table_and_which_secret_key_the_copy_needs(
    places: Places, tmp_path: Path
) -> None:
    folder = tmp_path / "original"
    folder.mkdir()
    original = start(folder)
    original.stop()
    server = places.new("postgres")

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
def test_target_that_holds_other_data_is_left_as_it_is(
    places: Places, source: str, kind: str
) -> None:
    target = places.new(kind)
    change(target, lambda tx: accounts.create_account("eve@example.com", tx, verified=True))
    before = whole(target)

    assert "has data in account" in error_response(source, target)
    assert whole(target) == before


def test_finished_copy_is_not_copied_into_again(places: Places, source: str) -> None:
    target = places.new("sqlite")
    copy(source, target)

    assert "has data in" in error_response(source, target)


@pytest.mark.parametrize("side_of", ["source", "target"])
def test_file_that_is_served_is_refused(places: Places, source: str, side_of: str) -> None:
    served = places.new("sqlite")
    change(served, lambda _: None)
    lock = FileLock(Path(served.removeprefix("sqlite:///")))
    lock.acquire()
    try:
        pair = (served, places.new("sqlite")) if side_of == "source" else (source, served)
        assert f"served by process {os.getpid()}" in error_response(*pair)
    finally:
        lock.release()


def test_server_that_another_copy_goes_into_is_refused(places: Places, source: str) -> None:
    target = places.new("postgres")
    refusals: list[str] = []

    def tell(rows: int, _: int) -> None:
        if not refusals:
            refusals.append(error_response(places.copy_of(source), target))

    copy(source, target, tell)

    assert "Another copy" in refusals[0]


def test_server_may_be_written_to_meanwhile_and_the_copy_is_of_one_moment(
    places: Places, source: str
) -> None:
    server, file = places.new("postgres"), places.new("sqlite")
    copy(source, server)
    before = whole(server)
    own = before["account"][0][0]

    def tell(rows: int, _: int) -> None:
        change(server, lambda tx: SUBSCRIBERS.create(own, new(f"late{rows}", "vip"), tx))

    copy(server, file, tell)

    assert whole(file) == before
    assert len(whole(server)["subscriber"]) > len(before["subscriber"])


def test_row_that_the_target_cannot_hold_is_named(places: Places) -> None:
    source, target = places.new("sqlite"), places.new("postgres")
    with unit_of_work(source) as tx:
        own = accounts.create_account("a\0b@example.com", tx, verified=True).id

    assert re.search(f"rows of account, from {own} .*NUL", error_response(source, target))


def test_progress_ends_with_every_row(places: Places, source: str) -> None:
    told: list[tuple[int, int]] = []

    copied = copy(source, places.new("sqlite"), lambda *both: told.append(both))

    rows = sum(each.source.rows for each in copied)
    assert told[-1] == (rows, rows)
    assert [read for read, _ in told] == sorted({read for read, _ in told})
    assert {total for _, total in told} == {rows}


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
def test_what_cannot_be_copied_is_said(
    tmp_path: Path, source: str, target: str, code: ExitCode
) -> None:
    if "a.db" in source:
        change(f"sqlite:///{tmp_path}/a.db", lambda _: None)
    urls = [url.format(tmp_path, tmp_path.name) for url in (source, target)]

    complaint(command(*urls), code)

    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_source_without_tables_of_roster_is_refused(
    tmp_path: Path, places: Places, kind: str
) -> None:
    source = places.new(kind)
    if kind == "sqlite":
        Path(source.removeprefix("sqlite:///")).touch()

    assert "has no Roster database" in error_response(source, places.new("sqlite"))
