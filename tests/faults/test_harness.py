"""What holds Roster to its promises sees each way in which one can be broken."""

from __future__ import annotations

import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Account
from ..fronts import Response
from ..stubs.lossy import running
from .promises import isolation, power_cuts
from .promises.broken_lines import STRETCH, in_stretches
from .promises.checker import NONE, Figures, broken, check
from .promises.contents import Contents
from .promises.disk import SECTOR, Disk
from .promises.lines import PLACES, Break, Lines, Way, breaks
from .promises.recorder import Operation, Outcome, Recorder, outcome_of

ONE, BULK = Operation("CreateSubscriber", "a"), Operation("BulkCreateSubscribers", "b")
MADE = Response(201, {"subscriber": {"id": "1"}})
TAKEN, BUSY, LOST = Response(200, {"failed": []}), Response(503, {}), Response(500, {})
IN_USE = Response(409, {"error": {"code": "IdempotencyKeyInUse"}})
WHOLE = Contents(
    made=Counter(["first key", *ONE.makes, *BULK.makes]),
    ids={"a.0": "1", "b.0": "2", "b.1": "3", "b.2": "4"},
    kept={"a", "b"},
    unequal=0,
    damages=[],
)


def noted(*answers: tuple[Operation, Response | None]) -> Recorder:
    recorder = Recorder()
    for operation, answer in answers:
        recorder.note(operation, answer)
    return recorder


DONE = noted((ONE, MADE), (BULK, TAKEN))


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (MADE, Outcome.OK),
        (TAKEN, Outcome.OK),
        (BUSY, Outcome.FAILED),
        (LOST, Outcome.UNKNOWN),
        (IN_USE, Outcome.UNKNOWN),
        (None, Outcome.UNKNOWN),
        (Response(200, {"failed": [{"index": 0}]}), None),
        (Response(409, {"error": {"code": "SubscriberAlreadyExists"}}), None),
    ],
)
def test_answer_tells_what_became_of_an_operation(
    answer: Response | None, outcome: Outcome | None
) -> None:
    assert outcome_of(answer) is outcome


def test_what_was_sent_before_may_stand_whatever_a_later_answer_says() -> None:
    recorder = noted((ONE, None), (ONE, BUSY), (BULK, BUSY), (BULK, TAKEN))

    assert recorder.outcomes == {ONE: Outcome.UNKNOWN, BULK: Outcome.OK}


def test_store_that_holds_what_was_told_breaks_nothing() -> None:
    assert broken(check(DONE, WHOLE), NONE) == {}


@pytest.mark.parametrize(
    ("recorder", "change", "found"),
    [
        (DONE, {"made": Counter(BULK.makes)}, {"lost": 1, "without their records": 1}),
        (DONE, {"made": Counter(["a.0", "b.0", "b.2"])}, {"lost": 1, "in half": 1}),
        (DONE, {"made": WHOLE.made + Counter(["a.0"])}, {"duplicates": 1}),
        (DONE, {"made": WHOLE.made + Counter(["c.0"])}, {"nobody's": 1}),
        (DONE, {"kept": {"a"}}, {"without their records": 1}),
        (DONE, {"ids": {**WHOLE.ids, "a.0": "9"}}, {"answered in two ways": 1}),
        (DONE, {"unequal": 1}, {"unequal": 1}),
        (DONE, {"damages": ["a page is lost"]}, {"damages": 1}),
        (noted((ONE, BUSY), (BULK, TAKEN)), {}, {"undone yet there": 1}),
        (noted((ONE, None), (BULK, LOST)), {}, {}),
        (noted((ONE, None), (BULK, TAKEN)), {"made": Counter(BULK.makes), "kept": {"b"}}, {}),
        (
            noted((ONE, MADE), (ONE, Response(201, {"subscriber": {"id": "2"}})), (BULK, TAKEN)),
            {},
            {"answered in two ways": 1},
        ),
        (noted((ONE, Response(404, {})), (BULK, TAKEN)), {}, {"unexpected answers": 1}),
    ],
)
def test_checker_finds(recorder: Recorder, change: dict[str, Any], found: dict[str, int]) -> None:
    assert broken(check(recorder, replace(WHOLE, **change)), NONE) == found


# Disks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds one file."""
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "old").write_bytes(b"old" * SECTOR)
    return tmp_path


def left(disk: Disk, folder: Path, seed: int = 0) -> dict[str, bytes]:
    """Returns the files that one power cut leaves."""
    place = folder / f"after-{seed}"
    place.mkdir()
    disk.restore(place, random.Random(seed))
    return {file.name: file.read_bytes() for file in place.iterdir()}


def test_disk_keeps_what_was_synced_when_the_power_goes(folder: Path) -> None:
    disk = Disk(folder / "before", 100)
    new = disk.opened("new")
    disk.change(new, 0, b"kept")
    disk.sync(new, folder=True)
    disk.delete("old", folder=True)
    disk.cut_power()
    disk.change(new, 0, b"late")
    disk.sync(new, folder=False)

    assert left(disk, folder) == {"new": b"kept"}


def test_disk_keeps_any_part_of_what_was_not_synced(folder: Path) -> None:
    disk = Disk(folder / "before", 100)
    disk.change(disk.opened("old"), 0, b"NEW" * SECTOR)
    disk.change(disk.opened("new"), 0, b"new")

    found = [left(disk, folder, seed) for seed in range(40)]

    texts = {each["old"] for each in found}
    assert {b"old" * SECTOR, b"NEW" * SECTOR} < texts
    assert any(b"old" in text and b"NEW" in text for text in texts)
    assert {len(text) for text in texts} == {3 * SECTOR}
    assert {each.get("new") for each in found} >= {None, b"", b"new"}


def test_power_goes_at_the_change_that_was_named_and_counts_no_others(folder: Path) -> None:
    disk = Disk(folder / "before", 2, of="old")
    for name in ("old", "new", "new", "old"):
        assert not disk.is_off
        disk.change(disk.opened(name), 0, b"x")

    assert disk.is_off
    assert disk.last_changed == "old"


def test_file_that_cannot_be_read_any_more_is_damaged(tmp_path: Path) -> None:
    place = tmp_path / "left"
    place.mkdir()
    (place / power_cuts.NAME).write_bytes(b"no database" * SECTOR)

    figures = power_cuts.looked_at(place, tmp_path / "look", DONE)

    assert (figures["damages"], figures["lost"]) == (1, 4)


def test_disk_that_lies_about_what_it_has_synced_is_found_out() -> None:
    assert power_cuts.run(10, lies=True)["lost"] > 0


# Lines


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        yield own


def address(listening: socket.socket) -> str:
    return f"127.0.0.1:{listening.getsockname()[1]}"


def whole(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        return stream.read()


@pytest.mark.parametrize(("way", "carried"), [(Way.CUT, 5), (Way.DELAYED, 5 + 1024)])
def test_line_carries_so_many_bytes_up_and_ends(
    listening: socket.socket, way: Way, carried: int
) -> None:
    with running(Lines(address(listening))) as lines:
        lines.losses = [Break(way, 5, up=True)]
        host, port = lines.server_address
        with socket.create_connection((host, port)) as client:
            client.sendall(b"x" * 2000)
            there, _ = listening.accept()
            with there:
                assert len(whole(there)) == carried
            assert whole(client) == b""

    assert len(lines.broken) == 1


def test_line_is_reset_after_so_many_bytes_down(listening: socket.socket) -> None:
    with running(Lines(address(listening))) as lines:
        lines.losses = [Break(Way.RESET, 5, up=False)]
        with socket.create_connection(lines.server_address) as client:
            client.sendall(b"x")
            there, _ = listening.accept()
            with there:
                there.sendall(b"y" * 2000)
                for side in (client, there):
                    with pytest.raises(ConnectionResetError):
                        whole(side)


def test_line_that_ended_before_it_broke_leaves_its_break_to_another(
    listening: socket.socket,
) -> None:
    planned = Break(Way.CUT, 50, up=True)
    with running(Lines(address(listening))) as lines:
        lines.losses = [planned]
        with socket.create_connection(lines.server_address) as client:
            client.sendall(b"x")
            there, _ = listening.accept()
            there.close()
            assert whole(client) == b""

    assert (lines.losses, lines.broken) == ([planned], [])


@contextmanager
def calling(address: tuple[str, int], listening: socket.socket) -> Iterator[None]:
    """Has one client that says next to nothing, and after it clients that say more."""
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.01):
            with socket.create_connection(address) as client, suppress(OSError):
                client.sendall(b"x" * 10)
                whole(client)

    def answer() -> None:
        with suppress(OSError):
            while True:
                listening.accept()[0].close()

    with socket.create_connection(address) as client:
        client.sendall(b"x")
        kept, _ = listening.accept()
        with kept, ThreadPoolExecutor() as pool:
            pool.submit(answer)
            pool.submit(call)
            try:
                yield
            finally:
                ended.set()
                listening.shutdown(socket.SHUT_RDWR)


def test_break_of_a_line_that_carries_nothing_is_left_to_another(
    listening: socket.socket,
) -> None:
    planned = [Break(Way.CUT, 5, up=True)]
    with running(Lines(address(listening), idle=0.1)) as lines:
        lines.break_all(planned, calling(lines.server_address, listening))

    assert lines.broken == planned


def test_breaks_lie_at_every_place_in_the_end() -> None:
    assert sorted(each.at for each in breaks(PLACES)) == list(range(PLACES))
    assert {(each.way, each.up) for each in breaks(100)} == {
        (way, up) for way in Way for up in (True, False)
    }


def all_kept(planned: list[Break]) -> Figures:
    return {"lines broken": len(planned)}


def one_lost(planned: list[Break]) -> Figures:
    return {"lines broken": len(planned), "lost": 1}


def test_every_break_is_in_a_stretch() -> None:
    count = 2 * STRETCH + 1

    assert in_stretches(breaks(count), all_kept) == {"lines broken": count}


def test_no_more_stretches_are_looked_at_after_one_that_lost_something() -> None:
    assert in_stretches(breaks(2 * STRETCH), one_lost) == {"lines broken": STRETCH, "lost": 1}


# Strangers


def test_one_who_finds_what_is_another_accounts_is_found_out(http_account: Account) -> None:
    tag = http_account.ok("CreateTag", name="vip")["tag"]["id"]

    figures = isolation.figures_of([isolation.ask(http_account, "GetTag", tag, 1)])

    assert figures["not 404"] == 4
