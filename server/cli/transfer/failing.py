"""How a transfer ends that cannot be done, and what it says to a person meanwhile."""

from __future__ import annotations

from rich.markup import escape

from ..output import ExitCode, errors


class TransferError(Exception):
    """What was asked cannot be done, or not to the end; the text says why in a sentence."""

    def __init__(self, sentence: str, ending: ExitCode) -> None:
        super().__init__(sentence)
        self.ending = ending

    def with_hint(self, hint: str) -> TransferError:
        """Returns the error with a sentence more, on how to go on."""
        return TransferError(f"{self} {hint}".rstrip(), self.ending)


def say(sentence: str) -> None:
    """Says on standard error what a person should know; standard output may hold data."""
    errors.print(f"[bold]roster:[/] {escape(sentence)}", soft_wrap=True)


def end(error: TransferError) -> None:
    """Says on standard error what is wrong, and ends the program."""
    errors.print(f"[bold red]roster:[/] {escape(str(error))}", soft_wrap=True)
    raise SystemExit(error.ending)
