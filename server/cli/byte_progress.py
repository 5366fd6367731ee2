"""A line on the terminal that says how much of a file has been written, or checked."""

from __future__ import annotations

from types import TracebackType

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from ..console import errors


class BytesBar:
    """Shows what is done, how fast, and the time that it takes yet; nothing without a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=errors,
            transient=True,
            disable=not errors.is_terminal,
        )
        self._task = self._progress.add_task("", total=None)

    def __enter__(self) -> BytesBar:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Says what is being done, and how far it is by now."""
        self._progress.update(self._task, description=what, completed=done, total=total)
