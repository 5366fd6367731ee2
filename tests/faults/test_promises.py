"""Each promise with few repetitions, and the program behind `make faults`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from peewee import OperationalError

from rosterd.server.storage.sqlite import file
from rosterd.server.storage.sqlite.database import SqliteDatabase

from ..documents import TESTS, table
from .promises import __main__ as faults
from .promises import checkpoints, contents, io_errors, kills, power_cuts
from .promises.checker import broken
from .promises.table import PROMISES, Promise


def test_killed_service_loses_no_acknowledged_write() -> None:
    results = kills.run(2)

    assert broken(results, kills.AT_MOST) == {}
    assert results["acknowledged"] > 0


def test_power_cut_loses_no_acknowledged_write() -> None:
    results = power_cuts.run(4)

    assert broken(results, power_cuts.AT_MOST) == {}
    assert results["acknowledged"] > 0


@pytest.mark.verify
def test_commits_without_sync_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    real = file._Connections  # noqa: SLF001 - replaced below

    def without_sync(path: str, *, pragmas: dict[str, Any], **options: Any) -> Any:
        return real(path, pragmas={**pragmas, "synchronous": "off"}, **options)

    monkeypatch.setattr(file, "_Connections", without_sync)

    assert broken(power_cuts.run(10), power_cuts.AT_MOST)


def test_failing_or_full_disk_causes_no_wrong_response() -> None:
    results = io_errors.run(2)

    assert broken(results, io_errors.AT_MOST) == {}
    assert results["failures"] == 6


@pytest.mark.verify
def test_failed_checkpoint_loses_no_acknowledged_write() -> None:
    results = checkpoints.run(2)

    assert broken(results, checkpoints.AT_MOST) == {}
    assert [name for name, least in checkpoints.AT_LEAST.items() if results[name] < least] == []


@pytest.mark.verify
def test_deleted_wal_after_a_failed_checkpoint_is_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def account_in(url: str) -> str:
        Path(url.removeprefix("sqlite:///") + "-wal").unlink(missing_ok=True)
        return contents.account_in(url)

    monkeypatch.setattr(checkpoints, "account_in", account_in)

    assert checkpoints.run(1)["lost"] > 0


@pytest.mark.verify
def test_acknowledged_failed_commits_are_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def commit(database: SqliteDatabase, writer: Any) -> None:
        try:
            writer.execute_sql("COMMIT")
        except OperationalError:
            return

    monkeypatch.setattr(SqliteDatabase, "_commit", commit)

    assert io_errors.run(1)["lost"] > 0


# The program


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the program."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def promise(name: str, lost: float) -> Promise:
    """Returns a promise that always reports this number of lost writes."""
    return Promise(
        name, lambda repetitions: {"tries": repetitions, "lost": lost}, 3, 70, {"lost": 0}
    )


def saved_results(folder: Path) -> dict[str, Any]:
    """Returns the stored results without durations."""
    stored = json.loads((folder / "faults.json").read_text())
    return {name: (entry["tries"], entry["lost"]) for name, entry in stored.items()}


def run(monkeypatch: pytest.MonkeyPatch, promises: list[Promise], *names: str) -> None:
    monkeypatch.setattr(faults, "PROMISES", promises)
    monkeypatch.setattr("sys.argv", ["faults", *names])
    faults.main()


def test_results_are_printed_and_added_to_the_stored_ones(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promises = [promise("P1 one", 0), promise("P2 other", 0)]

    run(monkeypatch, promises)
    monkeypatch.setenv("ROSTER_FAULTS", "full")
    run(monkeypatch, promises, "P2")

    assert saved_results(folder) == {"P1 one": (3, 0), "P2 other": (70, 0)}
    assert capsys.readouterr().out.count("at most 0") == 3


def test_promise_without_repetitions_is_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch, [replace(promise("P1 one", 1), short=0), promise("P2 other", 0)])

    assert saved_results(folder) == {"P2 other": (3, 0)}


def test_broken_promise_is_named_and_the_others_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="Broken: P1 one: lost"):
        run(monkeypatch, [promise("P1 one", 1), promise("P2 other", 0)])

    assert saved_results(folder) == {"P1 one": (3, 1), "P2 other": (3, 0)}


def test_promise_below_its_lower_bound_is_broken() -> None:
    some = Promise("P1 one", lambda repetitions: {}, 1, 1, {"lost": 0}, {"acknowledged": 1})

    assert some.broken({"lost": 0, "acknowledged": 1}) == []
    assert some.broken({"lost": 0, "acknowledged": 0}) == ["acknowledged"]
    assert some.broken({"lost": 1}) == ["lost", "acknowledged"]


def test_promise_that_raises_is_broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(repetitions: int) -> dict[str, float]:
        raise AssertionError("no service")

    with pytest.raises(SystemExit, match="Broken: P1 one: ended early"):
        run(monkeypatch, [Promise("P1 one", fail, 1, 1, {}), promise("P2 other", 0)])

    assert saved_results(folder) == {"P2 other": (3, 0)}


def test_documented_promises_match_the_code() -> None:
    rows = table(TESTS, "promise | repetitions | scenario")

    assert [row[:2] for row in rows] == [
        [f"`{promise.name}`", f"{promise.full:,}"] for promise in PROMISES
    ]
