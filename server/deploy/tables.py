"""Updates the tables of settings and metrics in the README of this folder.

python -m rosterd.server.deploy.tables
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..config import SETTINGS
from ..observability.metrics import METRICS

README = Path(__file__).with_name("README.md")


def updated(text: str) -> str:
    """Returns the text of the README with current tables."""
    settings = (
        (f"`{row.environment}`", f"`{row.default}`" if row.default else "", row.help)
        for row in SETTINGS.values()
    )
    metrics = (
        (f"`{row.name}`", row.kind.value, ", ".join(f"`{label}`" for label in row.labels), row.help)
        for row in METRICS
    )
    text = _replaced(text, "| setting | default | meaning |", settings)
    return _replaced(text, "| metric | kind | labels | meaning |", metrics)


def _replaced(text: str, header: str, rows: Iterable[Iterable[str]]) -> str:
    before, _, after = text.partition(f"{header}\n")
    rule, _, after = after.partition("\n")
    rest = re.sub(r"\A(\|.*\n)*", "", after)
    lines = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"{before}{header}\n{rule}\n{''.join(lines)}{rest}"


if __name__ == "__main__":
    README.write_text(updated(README.read_text()))
