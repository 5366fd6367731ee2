"""TypeScript: installs the package with npm, from a cache, and checks the programs' types."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..documents import CLIENTS, ROOT, code, fences
from ..tools import file, program
from .programs import FOLDER, Programs, shell


def npm_environment() -> dict[str, str]:
    """Returns the environment for npm with the packages in .tools, without the network."""
    node, npm = program("node", "typescript"), program("npm", "typescript")
    return {
        "PATH": f"{Path(node).parent}:{Path(npm).parent}:{os.environ['PATH']}",
        "npm_config_cache": str(file("typescript/cache", "typescript")),
        "npm_config_offline": "true",
    }


def make(folder: Path) -> Programs:
    """Installs the package and the dependencies of the programs, and checks types."""
    environment = npm_environment()
    shutil.copytree(FOLDER / "typescript", folder, dirs_exist_ok=True)
    (folder / "example.ts").write_text(code(CLIENTS, "example: example.ts"))
    (block,) = (text for text in fences(CLIENTS, "sh") if "npm pack" in text)
    install = block[block.index("npm install") :].replace("../roster", str(ROOT))
    shell(install, folder, environment)
    # Later installations must not change the package.
    shell("npm install", folder, environment)
    shell("node_modules/.bin/tsc", folder, environment)
    return Programs([program("node", "typescript"), str(folder / "walk.ts")])
