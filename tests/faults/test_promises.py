"""Each promise, tried a few times; `make faults` tries more often. And what `make faults` does."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from peewee import OperationalError

from server.storage.sqlite import file
from server.storage.sqlite.database import SqliteDatabase

from ..documents import TESTS, table
from .promises import __main__ as faults
from .promises import checkpoints, contents, io_errors, kills, power_cuts
from .promises.checker import broken
from .promises.table import PROMISES, Promise


def test_nothing_is_lost_when_the_service_is_killed() -> None:
    figures = kills.run(2)

    assert broken(figures, kills.AT_MOST) == {}
    assert figures["acknowledged"] > 0


def test_nothing_is_lost_when_the_power_is_cut() -> None:
    figures = power_cuts.run(4)

    assert broken(figures, power_cuts.AT_MOST) == {}
    assert figures["acknowledged"] > 0


def test_commits_that_are_not_synced_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = file._Connections

    def hasty(path: str, *, pragmas: dict[str, Any], **options: Any) -> Any:
        return real(path, pragmas={**pragmas, "synchronous": "off"}, **options)

    monkeypatch.setattr(file, "_Connections", hasty)

    assert broken(power_cuts.run(10), power_cuts.AT_MOST)


def test_disk_that_fails_or_is_full_makes_nobody_believe_what_is_not_so() -> None:
    figures = io_errors.run(2)

    assert broken(figures, io_errors.AT_MOST) == {}
    assert figures["failures"] == 6


def test_nothing_rests_on_a_checkpoint_whether_it_fails_in_a_service_or_at_its_end() -> None:
    figures = checkpoints.run(2)

    assert broken(figures, checkpoints.AT_MOST) == {}
    assert [name for name, least in checkpoints.AT_LEAST.items() if figures[name] < least] == []


def test_log_that_was_thrown_away_after_a_checkpoint_that_failed_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def account_in(url: str) -> str:
        Path(url.removeprefix("sqlite:///") + "-wal").unlink(missing_ok=True)
        return contents.account_in(url)

    monkeypatch.setattr(checkpoints, "account_in", account_in)

    assert checkpoints.run(1)["lost"] > 0


def test_commits_that_failed_and_are_acknowledged_are_found_out(
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
    """Where the program runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def promise(name: str, lost: float) -> Promise:
    """A promise of which so much is broken, whatever is tried."""
    return Promise(name, lambda rounds: {"tried": rounds, "lost": lost}, 3, 70, {"lost": 0})


def told(folder: Path) -> dict[str, Any]:
    """Returns the figures that were kept, but for the time that they took."""
    kept = json.loads((folder / "faults.json").read_text())
    return {name: (own["tried"], own["lost"]) for name, own in kept.items()}


def run(monkeypatch: pytest.MonkeyPatch, promises: list[Promise], *names: str) -> None:
    monkeypatch.setattr(faults, "PROMISES", promises)
    monkeypatch.setattr("sys.argv", ["faults", *names])
    faults.main()


def test_figures_are_printed_and_kept_beside_those_of_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    promises = [promise("P1 one", 0), promise("P2 other", 0)]

    run(monkeypatch, promises)
    monkeypatch.setenv("ROSTER_FAULTS", "full")
    run(monkeypatch, promises, "P2")

    assert told(folder) == {"P1 one": (3, 0), "P2 other": (70, 0)}
    assert capsys.readouterr().out.count("at most 0") == 3


def test_promise_of_no_rounds_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, [replace(promise("P1 one", 1), short=0), promise("P2 other", 0)])

    assert told(folder) == {"P2 other": (3, 0)}


def test_broken_promise_is_named_and_the_others_are_tried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="Broken: P1 one: lost"):
        run(monkeypatch, [promise("P1 one", 1), promise("P2 other", 0)])

    assert told(folder) == {"P1 one": (3, 1), "P2 other": (3, 0)}


def test_promise_of_which_too_little_was_done_is_broken() -> None:
    some = Promise("P1 one", lambda rounds: {}, 1, 1, {"lost": 0}, {"acknowledged": 1})

    assert some.broken({"lost": 0, "acknowledged": 1}) == []
    assert some.broken({"lost": 0, "acknowledged": 0}) == ["acknowledged"]
    assert some.broken({"lost": 1}) == ["lost", "acknowledged"]


def test_promise_that_cannot_be_tried_is_broken(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(rounds: int) -> dict[str, float]:
        raise AssertionError("no service")

    with pytest.raises(SystemExit, match="Broken: P1 one: ended early"):
        run(monkeypatch, [Promise("P1 one", fail, 1, 1, {}), promise("P2 other", 0)])

    assert told(folder) == {"P2 other": (3, 0)}


def test_table_of_promises_is_that_of_the_code() -> None:
    rows = table(TESTS, "promise | repetitions | scenario")

    assert [row[:2] for row in rows] == [[f"`{each.name}`", f"{each.full:,}"] for each in PROMISES]
