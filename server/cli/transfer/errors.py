"""The error of a transfer that cannot be done."""

from __future__ import annotations

from ...console import ExitCode


class TransferError(Exception):
    """What was asked cannot be done, or not to the end; the text says why in a sentence."""

    def __init__(self, sentence: str, ending: ExitCode) -> None:
        super().__init__(sentence)
        self.ending = ending

    def with_hint(self, hint: str) -> TransferError:
        """Returns the error with a sentence more, on how to go on."""
        return TransferError(f"{self} {hint}".rstrip(), self.ending)
