"""Go: builds the program with the tools and modules in .tools, without the network."""

from __future__ import annotations

import os
from pathlib import Path

from ..tools import FOLDER as TOOLS
from ..tools import file, program
from .programs import FOLDER, Programs, documented_commands, shell


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
    environment = go_environment()

    def example(code: str) -> list[str]:
        """Creates a module with the documented commands, and builds it."""
        target = folder / "example"
        target.mkdir()
        (target / "main.go").write_text(code)
        shell("go mod init example", target, environment)
        shell(documented_commands("install: go"), target, environment)
        shell("go build -o example .", target, environment)
        return [str(target / "example")]

    shell(f"go build -o {folder}/ ./...", FOLDER / "go", environment)
    return Programs([str(folder / "walk")], example=example)
