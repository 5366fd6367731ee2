"""Programs that some tests need and that a machine may lack: there those tests skip and say so.

The scripts in .ci/tools install them, into .tools or as packages of the system. Where
ROSTER_TOOLS is "required", as in CI, a test fails for want of a program and never skips.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

FOLDER = Path(__file__).parent.parent / ".tools"


def program(name: str, script: str) -> str:
    """Returns the path of a program that `script` of .ci/tools installs; without it, no test."""
    found = shutil.which(name, path=f"{FOLDER / 'bin'}:{os.environ.get('PATH', '')}")
    return found or missing(name, script)


def file(name: str, script: str) -> Path:
    """Returns the path of a file below .tools that `script` installs; without it, no test."""
    path = FOLDER / name
    return path if path.exists() else missing(name, script)


def are_required() -> bool:
    """Whether a test fails for want of a program, as in CI."""
    return os.environ.get("ROSTER_TOOLS") == "required"


def missing(name: str, script: str) -> NoReturn:
    """Ends the running test for want of something."""
    text = f"{name} is not on this machine; .ci/tools/{script} installs it"
    if are_required():
        pytest.fail(text)
    pytest.skip(text)
