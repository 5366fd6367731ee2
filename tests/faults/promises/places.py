"""Disks that fail, each tried on a copy of one new database."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from .checker import Figures, broken, total
from .failing import FailingDisk
from .in_process import quiet, serving
from .power_cuts import NAME


def each(
    disks: Iterable[FailingDisk], tried: Callable[[Path, FailingDisk], Figures], at_most: Figures
) -> Figures:
    """Tries disks until one breaks what may be `at_most`; returns what came of all of them."""
    sums: Figures = {}
    with tempfile.TemporaryDirectory() as folder, quiet():
        template = Path(folder) / "template"
        template.mkdir()
        asyncio.run(_make(template / NAME))
        for disk in disks:
            place = Path(folder) / "place"
            shutil.copytree(template, place)
            sums = total(sums, tried(place / NAME, disk))
            shutil.rmtree(place)
            if broken(sums, at_most):
                break
    return sums


async def _make(path: Path) -> None:
    async with serving(path):
        pass
