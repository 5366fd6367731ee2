"""The checks of the fault scenarios detect each kind of violation."""

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
from ..stubs.lossy_proxy import running
from .promises import isolation, power_cuts
from .promises.breaking_proxy import POSITIONS, Break, BreakingProxy, BreakKind, breaks
from .promises.checker import NO_VIOLATIONS, Results, broken, check
from .promises.connection_breaks import BATCH, in_batches
from .promises.contents import Contents
from .promises.disk import SECTOR, Disk
from .promises.in_process import quiet
from .promises.recorder import Operation, Outcome, Recorder, outcome_of

pytestmark = pytest.mark.verify

ONE, BULK = Operation("CreateSubscriber", "a"), Operation("BulkCreateSubscribers", "b")
CREATED = Response(201, {"subscriber": {"id": "1"}})
BULK_OK, UNAVAILABLE, INTERNAL_ERROR = (
    Response(200, {"failed": []}),
    Response(503, {}),
    Response(500, {}),
)
IN_USE = Response(409, {"error": {"code": "IdempotencyKeyInUse"}})
COMPLETE = Contents(
    names=Counter(["first key", *ONE.names, *BULK.names]),
    ids={"a.0": "1", "b.0": "2", "b.1": "3", "b.2": "4"},
    idempotency_keys={"a", "b"},
    inconsistent=0,
    integrity_errors=[],
)


def recorded(*responses: tuple[Operation, Response | None]) -> Recorder:
    recorder = Recorder()
    for operation, response in responses:
        recorder.record(operation, response)
    return recorder


SUCCEEDED = recorded((ONE, CREATED), (BULK, BULK_OK))


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (CREATED, Outcome.OK),
        (BULK_OK, Outcome.OK),
        (UNAVAILABLE, Outcome.FAILED),
        (INTERNAL_ERROR, Outcome.UNKNOWN),
        (IN_USE, Outcome.UNKNOWN),
        (None, Outcome.UNKNOWN),
        (Response(200, {"failed": [{"index": 0}]}), None),
        (Response(409, {"error": {"code": "SubscriberAlreadyExists"}}), None),
    ],
)
def test_response_states_the_outcome_of_an_operation(
    response: Response | None, outcome: Outcome | None
) -> None:
    assert outcome_of(response) is outcome


def test_unknown_outcome_of_an_earlier_request_outweighs_a_later_failure() -> None:
    recorder = recorded((ONE, None), (ONE, UNAVAILABLE), (BULK, UNAVAILABLE), (BULK, BULK_OK))

    assert recorder.outcomes == {ONE: Outcome.UNKNOWN, BULK: Outcome.OK}


def test_database_that_matches_the_responses_has_no_violations() -> None:
    assert broken(check(SUCCEEDED, COMPLETE), NO_VIOLATIONS) == {}


@pytest.mark.parametrize(
    ("recorder", "change", "violations"),
    [
        (
            SUCCEEDED,
            {"names": Counter(BULK.names)},
            {"lost": 1, "stored response missing or extra": 1},
        ),
        (SUCCEEDED, {"names": Counter(["a.0", "b.0", "b.2"])}, {"lost": 1, "partly stored": 1}),
        (SUCCEEDED, {"names": COMPLETE.names + Counter(["a.0"])}, {"duplicates": 1}),
        (
            SUCCEEDED,
            {"names": COMPLETE.names + Counter(["c.0"])},
            {"rows of no operation": 1},
        ),
        (SUCCEEDED, {"idempotency_keys": {"a"}}, {"stored response missing or extra": 1}),
        (SUCCEEDED, {"ids": {**COMPLETE.ids, "a.0": "9"}}, {"different responses": 1}),
        (SUCCEEDED, {"inconsistent": 1}, {"inconsistent": 1}),
        (SUCCEEDED, {"integrity_errors": ["a page is lost"]}, {"integrity errors": 1}),
        (recorded((ONE, UNAVAILABLE), (BULK, BULK_OK)), {}, {"failed but stored": 1}),
        (recorded((ONE, None), (BULK, INTERNAL_ERROR)), {}, {}),
        (
            recorded((ONE, None), (BULK, BULK_OK)),
            {"names": Counter(BULK.names), "idempotency_keys": {"b"}},
            {},
        ),
        (
            recorded(
                (ONE, CREATED), (ONE, Response(201, {"subscriber": {"id": "2"}})), (BULK, BULK_OK)
            ),
            {},
            {"different responses": 1},
        ),
        (recorded((ONE, Response(404, {})), (BULK, BULK_OK)), {}, {"unexpected responses": 1}),
    ],
)
def test_checker_reports_violations(
    recorder: Recorder, change: dict[str, Any], violations: dict[str, int]
) -> None:
    assert broken(check(recorder, replace(COMPLETE, **change)), NO_VIOLATIONS) == violations


# Disks


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds one file."""
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "old").write_bytes(b"old" * SECTOR)
    return tmp_path


def files_after_power_cut(disk: Disk, folder: Path, seed: int = 0) -> dict[str, bytes]:
    """Returns the contents of all files after a power cut."""
    place = folder / f"after-{seed}"
    place.mkdir()
    disk.restore(place, random.Random(seed))
    return {file.name: file.read_bytes() for file in place.iterdir()}


def test_power_cut_keeps_synced_data(folder: Path) -> None:
    disk = Disk(folder / "before", 100)
    new = disk.opened("new")
    disk.change(new, 0, b"kept")
    disk.sync(new, folder=True)
    disk.delete("old", folder=True)
    disk.cut_power()
    disk.change(new, 0, b"late")
    disk.sync(new, folder=False)

    assert files_after_power_cut(disk, folder) == {"new": b"kept"}


def test_power_cut_may_keep_any_part_of_unsynced_data(folder: Path) -> None:
    disk = Disk(folder / "before", 100)
    disk.change(disk.opened("old"), 0, b"NEW" * SECTOR)
    disk.change(disk.opened("new"), 0, b"new")

    found = [files_after_power_cut(disk, folder, seed) for seed in range(40)]

    texts = {item["old"] for item in found}
    assert {b"old" * SECTOR, b"NEW" * SECTOR} < texts
    assert any(b"old" in text and b"NEW" in text for text in texts)
    assert {len(text) for text in texts} == {3 * SECTOR}
    assert {item.get("new") for item in found} >= {None, b"", b"new"}


def test_power_fails_at_a_given_change_of_a_given_file(folder: Path) -> None:
    disk = Disk(folder / "before", 2, of="old")
    for name in ("old", "new", "new", "old"):
        assert not disk.is_off
        disk.change(disk.opened(name), 0, b"x")

    assert disk.is_off
    assert disk.last_changed == "old"


def test_unreadable_file_counts_as_integrity_error(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / power_cuts.NAME).write_bytes(b"no database" * SECTOR)

    results = power_cuts.check_files(files, tmp_path / "copy", SUCCEEDED)

    assert (results["integrity errors"], results["lost"]) == (1, 4)


def test_lost_writes_of_a_disk_that_does_not_sync_are_detected(tmp_path: Path) -> None:
    # After most cuts such a disk holds no database or an unreadable one, so every cut gets its own.
    def results(number: int) -> Results:
        folder = tmp_path / f"{number}"
        folder.mkdir()
        return power_cuts.history(folder, range(number, number + 1), lies=True)

    with quiet():
        found = map(results, range(40))
        assert any(each["lost"] and not each["integrity errors"] for each in found)


# Breaking connections


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as own:
        yield own


def address(listener: socket.socket) -> str:
    return f"127.0.0.1:{listener.getsockname()[1]}"


def receive_all(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as stream:
        return stream.read()


@pytest.mark.parametrize(("kind", "carried"), [(BreakKind.CUT, 5), (BreakKind.DELAYED, 5 + 1024)])
def test_connection_closes_after_a_number_of_bytes_sent(
    listener: socket.socket, kind: BreakKind, carried: int
) -> None:
    with running(BreakingProxy(address(listener))) as proxy:
        proxy.losses = [Break(kind, 5, up=True)]
        host, port = proxy.server_address
        with socket.create_connection((host, port)) as client:
            client.sendall(b"x" * 2000)
            accepted, _ = listener.accept()
            with accepted:
                assert len(receive_all(accepted)) == carried
            assert receive_all(client) == b""

    assert len(proxy.broken) == 1


def test_connection_is_reset_after_a_number_of_bytes_received(
    listener: socket.socket,
) -> None:
    with running(BreakingProxy(address(listener))) as proxy:
        proxy.losses = [Break(BreakKind.RESET, 5, up=False)]
        with socket.create_connection(proxy.server_address) as client:
            client.sendall(b"x")
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(b"y" * 2000)
                for side in (client, accepted):
                    with pytest.raises(ConnectionResetError):
                        receive_all(side)


def test_break_of_a_connection_that_ends_early_is_applied_to_another(
    listener: socket.socket,
) -> None:
    planned = Break(BreakKind.CUT, 50, up=True)
    with running(BreakingProxy(address(listener))) as proxy:
        proxy.losses = [planned]
        with socket.create_connection(proxy.server_address) as client:
            client.sendall(b"x")
            accepted, _ = listener.accept()
            accepted.close()
            assert receive_all(client) == b""

    assert (proxy.losses, proxy.broken) == ([planned], [])


@contextmanager
def calling(address: tuple[str, int], listener: socket.socket) -> Iterator[None]:
    """Runs one idle client, and after it clients that send more."""
    ended = threading.Event()

    def call() -> None:
        while not ended.wait(0.01):
            with socket.create_connection(address) as client, suppress(OSError):
                client.sendall(b"x" * 10)
                receive_all(client)

    def response() -> None:
        with suppress(OSError):
            while True:
                listener.accept()[0].close()

    with socket.create_connection(address) as client:
        client.sendall(b"x")
        kept, _ = listener.accept()
        with kept, ThreadPoolExecutor() as pool:
            pool.submit(response)
            pool.submit(call)
            try:
                yield
            finally:
                ended.set()
                listener.shutdown(socket.SHUT_RDWR)


def test_break_of_an_idle_connection_is_applied_to_another(
    listener: socket.socket,
) -> None:
    planned = [Break(BreakKind.CUT, 5, up=True)]
    with running(BreakingProxy(address(listener), idle=0.1)) as proxy:
        proxy.break_all(planned, calling(proxy.server_address, listener))

    assert proxy.broken == planned


def test_breaks_cover_every_position() -> None:
    assert sorted(item.at for item in breaks(POSITIONS)) == list(range(POSITIONS))
    assert {(item.kind, item.up) for item in breaks(100)} == {
        (kind, up) for kind in BreakKind for up in (True, False)
    }


def none_lost(planned: list[Break]) -> Results:
    return {"connections broken": len(planned)}


def one_lost(planned: list[Break]) -> Results:
    return {"connections broken": len(planned), "lost": 1}


def test_every_break_is_in_a_batch() -> None:
    count = 2 * BATCH + 1

    assert in_batches(breaks(count), none_lost) == {"connections broken": count}


def test_batches_end_after_one_with_a_violation() -> None:
    assert in_batches(breaks(2 * BATCH), one_lost) == {"connections broken": BATCH, "lost": 1}


# Cross-tenant isolation


def test_access_to_a_resource_of_another_account_is_detected(http_account: Account) -> None:
    tag = http_account.ok("CreateTag", name="vip")["tag"]["id"]

    results = isolation.results_of([isolation.compare_calls(http_account, "GetTag", tag, 1)])

    assert results["not 404"] == 4
