"""Python: installs `generated/python` into a separate folder."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

from ..documents import ROOT
from .programs import FOLDER, Programs

SOURCES = FOLDER / "python"
# How pip installs without the network, with the dependencies of the development environment.
OFFLINE = {
    "PIP_NO_INDEX": "1",
    # Means false, in spite of its name.
    "PIP_NO_BUILD_ISOLATION": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PYTHONPATH": sysconfig.get_path("purelib"),
}


def make(folder: Path) -> Programs:
    """Installs the stubs for the program."""
    return programs(install(folder))


def programs(site: Path, python: str = sys.executable) -> Programs:
    """Returns the program, which imports from `site`."""
    return Programs([python, str(SOURCES / "walk.py")], {"PYTHONPATH": str(site)})


def install(folder: Path, source: Path = ROOT / "generated" / "python") -> Path:
    """Installs a package without its dependencies, and returns the folder."""
    site = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index"]
    command = [*pip, *alone, "--target", str(site), str(source)]
    subprocess.run(command, check=True, timeout=120)
    return site
