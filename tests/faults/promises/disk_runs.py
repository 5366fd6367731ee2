"""Runs a scenario on failing disks, each with a copy of one new database."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from .checker import Results, broken, total
from .failing_disk import FailingDisk
from .in_process import quiet, serving
from .power_cuts import NAME


def run_on_each(
    disks: Iterable[FailingDisk], run: Callable[[Path, FailingDisk], Results], at_most: Results
) -> Results:
    """Runs a scenario on each disk until a bound of `at_most` is exceeded. Returns the sums."""
    sums: Results = {}
    with tempfile.TemporaryDirectory() as folder, quiet():
        template = Path(folder) / "template"
        template.mkdir()
        asyncio.run(_create(template / NAME))
        for disk in disks:
            copy = Path(folder) / "copy"
            shutil.copytree(template, copy)
            sums = total(sums, run(copy / NAME, disk))
            shutil.rmtree(copy)
            if broken(sums, at_most):
                break
    return sums


async def _create(path: Path) -> None:
    async with serving(path):
        pass
