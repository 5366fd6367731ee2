"""Python: installs `generated/python` into a separate folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .programs import FOLDER, ROOT, Programs

SOURCES = FOLDER / "python"


def make(folder: Path) -> Programs:
    """Installs the stubs for the programs."""
    return programs(install(folder), folder)


def programs(site: Path, folder: Path, python: str = sys.executable) -> Programs:
    """Returns the programs, which import from `site`. The example is written to `folder`."""

    def example(text: str) -> list[str]:
        file = folder / "example.py"
        file.write_text(text)
        return [python, str(file)]

    return Programs(
        walk=[python, str(SOURCES / "walk.py")],
        example=example,
        environment={"PYTHONPATH": str(site)},
    )


def install(folder: Path, source: Path = ROOT / "generated" / "python") -> Path:
    """Installs a package without its dependencies, and returns the folder."""
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index"]
    command = [*pip, *alone, "--target", str(site), str(source)]
    subprocess.run(command, check=True, timeout=120)
    return site
