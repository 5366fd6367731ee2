"""A line on the terminal that says how far a transfer has come."""

from __future__ import annotations

from types import TracebackType

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TimeRemainingColumn,
)
from rich.text import Text

from ...console import counted, errors


class Bar:
    """Shows what is done, how fast it goes and how long it takes yet; nothing without a terminal.

    `done` and `total` count lines or whatever else the time left is reckoned from.
    """

    def __init__(self, done: int, rows: int, *, hidden: bool = False) -> None:
        self._progress = Progress(
            BarColumn(),
            _Rows(),
            _Rate(),
            TimeRemainingColumn(),
            console=errors,
            transient=True,
            disable=hidden or not errors.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, completed=done, rows=rows)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def show(self, done: int, rows: int, total: int | None) -> None:
        """Says how far it is by now."""
        self._progress.update(self._task, completed=done, rows=rows, total=total)


class _Rows(ProgressColumn):
    """The number of rows so far."""

    def render(self, task: Task) -> Text:
        return Text(counted(task.fields["rows"], "row"))


class _Rate(ProgressColumn):
    """How many rows a second have been done of late."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:,.0f}/s")
