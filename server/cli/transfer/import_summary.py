"""Formats the summary of an import for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..common.flags import with_flags


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Returns the lines of a summary, without the counts by outcome and reason."""
    lines = []
    if summary.get("preset", "ROSTER") != "ROSTER":
        lines.append(f"Preset: {summary['preset'].lower()}.")
    statuses = summary.get("statuses") or {}
    if statuses:
        counts = ", ".join(f"{number:,} {status}" for status, number in statuses.items())
        lines.append(f"Statuses: {counts}.")
    if summary.get("statusesKept"):
        lines.append(f"Stored statuses kept: {summary['statusesKept']:,}.")
    if summary.get("stayedOptedOut"):
        lines.append(f"Opted out before, and stay opted out: {summary['stayedOptedOut']:,}.")
    if summary.get("createdFields"):
        lines.append(f"Custom fields created: {', '.join(summary['createdFields'])}.")
    if summary.get("ignoredColumns"):
        lines.append(f"Columns ignored: {', '.join(summary['ignoredColumns'])}.")
    for cells in summary.get("unrecognizedCells") or ():
        # A service of an earlier version returns one example.
        examples = ", ".join(map(repr, cells.get("examples") or [cells["example"]]))
        lines.append(
            f"Values not recognized in column {cells['column']}: {cells['rows']:,},"
            f" such as {examples}. {with_flags(cells.get('hint', ''))}".rstrip()
        )
    if summary.get("dryRun"):
        lines.append("This was a dry run. Nothing was stored.")
    return lines
