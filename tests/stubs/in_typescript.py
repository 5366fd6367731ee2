"""TypeScript: installs the package with npm, from a cache, and checks the programs' types."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..tools import file, program
from .programs import FOLDER, Programs, documented_commands, shell


def make(folder: Path) -> Programs:
    """Installs the package and the dependencies of the programs, and checks types."""
    node, npm = program("node", "typescript"), program("npm", "typescript")
    environment = {
        "PATH": f"{Path(node).parent}:{Path(npm).parent}:{os.environ['PATH']}",
        "npm_config_cache": str(file("typescript/cache", "typescript")),
        "npm_config_offline": "true",
    }

    def example(code: str) -> list[str]:
        """Checks the types of the code, and returns its command."""
        (folder / "example.ts").write_text(code)
        shell("node_modules/.bin/tsc --skipLibCheck", folder, environment)
        return [node, str(folder / "example.ts")]

    shutil.copytree(FOLDER / "typescript", folder, dirs_exist_ok=True)
    shell(documented_commands("install: typescript"), folder, environment)
    # Later installations must not change the package.
    shell("npm install", folder, environment)
    shell("node_modules/.bin/tsc", folder, environment)
    return Programs([node, str(folder / "walk.ts")], example=example)
