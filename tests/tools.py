"""External programs that some tests need. Tests are skipped if their program is missing.

The scripts in .ci/tools install them, into .tools or as packages of the system. If ROSTER_TOOLS
is "required", as in CI, a missing program fails the test.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

FOLDER = Path(__file__).parent.parent / ".tools"


def program(name: str, script: str) -> str:
    """Returns the path of a program that `script` of .ci/tools installs, or skips the test."""
    return find(name) or missing(name, script)


def find(name: str) -> str | None:
    """Returns the path of a program, or None if it is not on this machine."""
    return shutil.which(name, path=f"{FOLDER / 'bin'}:{os.environ.get('PATH', '')}")


def file(name: str, script: str) -> Path:
    """Returns the path of a file below .tools that `script` installs, or skips the test."""
    path = FOLDER / name
    return path if path.exists() else missing(name, script)


def are_required() -> bool:
    """Whether a missing program fails a test."""
    return os.environ.get("ROSTER_TOOLS") == "required"


def how_to_install(name: str, script: str) -> str:
    """Returns the message about a missing program."""
    return f"{name} is not on this machine; .ci/tools/{script} installs it"


def missing(name: str, script: str) -> NoReturn:
    """Skips or fails the running test because a program is missing."""
    text = how_to_install(name, script)
    if are_required():
        pytest.fail(text)
    pytest.skip(text)
