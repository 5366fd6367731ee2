"""Go: builds the program with the tools and modules in .tools, without the network."""

from __future__ import annotations

import os
from pathlib import Path

from ..tools import FOLDER as TOOLS
from ..tools import file, program
from .programs import FOLDER, Programs, shell


def go_environment() -> dict[str, str]:
    """Returns the environment for builds that use only .tools."""
    go = program("go", "go")
    return {
        "PATH": f"{Path(go).parent}:{os.environ['PATH']}",
        "GOMODCACHE": str(file("go/modules", "go")),
        "GOCACHE": str(TOOLS / "go/build"),
        "GOFLAGS": "-modcacherw -buildvcs=false -ldflags=-w",
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOTOOLCHAIN": "local",
    }


def make(folder: Path) -> Programs:
    """Builds the program with the module in the checkout."""
    shell(f"go build -o {folder}/ ./...", FOLDER / "go", go_environment())
    return Programs([str(folder / "walk")])
