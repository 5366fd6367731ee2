"""Progress bars on standard error. They are shown on a terminal only."""

from __future__ import annotations

from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from ...serving.console import is_terminal, pluralized


class _Bar:
    """A progress bar with one task, shown while it is entered."""

    def __init__(self, *columns: ProgressColumn, hidden: bool = False, **fields: Any) -> None:
        self._progress = Progress(
            *columns,
            console=Console(stderr=True, highlight=False),
            transient=True,
            disable=hidden or not is_terminal(),
        )
        self._task = self._progress.add_task("", total=None, **fields)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


class ByteProgress(_Bar):
    """The bytes done of a file, the speed and the remaining time."""

    def __init__(self) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )

    def show(self, phase: str, done: int, total: int) -> None:
        self._progress.update(self._task, description=phase, completed=done, total=total)


class RowProgress(_Bar):
    """The rows done, the speed and the remaining time.

    `noun` is the name of a row. `done` and `total` estimate the remaining time; they may count
    lines or bytes instead of rows.
    """

    def __init__(
        self, done: int, rows: int, *, noun: str = "row", phase: str = "", hidden: bool = False
    ) -> None:
        columns = [BarColumn(), _Rows(), _Rate(), TimeRemainingColumn()]
        if phase:
            columns.insert(0, TextColumn(phase))
        super().__init__(*columns, hidden=hidden, completed=done, rows=rows, noun=noun)

    def show(self, done: int, rows: int, total: int | None) -> None:
        self._progress.update(self._task, completed=done, rows=rows, total=total)


class _Rows(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(pluralized(task.fields["rows"], task.fields["noun"]))


class _Rate(ProgressColumn):
    """The current number of rows per second."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")
