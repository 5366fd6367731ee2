"""Builds clients with OpenAPI Generator from /openapi.json, and programs that use them.

The generator runs with its defaults. Each language has a program in the folder of its name, which
calls the service with the generated client and asserts the results. It reads the URL of the
service from ROSTER_URL, a key from ROSTER_API_KEY and the body of a webhook request from
ROSTER_EVENT, prints each of STEPS on a line when it is complete, and exits with 0.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..stubs.in_go import go_environment
from ..stubs.programs import shell
from ..tools import file, program

FOLDER = Path(__file__).parent
SCRIPT = "openapi-generator"
# The generator for each language.
GENERATORS = {"go": "go", "python": "python", "typescript": "typescript-fetch"}

STEPS = [
    "create",  # CREATED below, confirmed, with two tags and the value "pro" of a new custom field
    "get",  # the same, with its creation time
    "list",  # by status CONFIRMED: only this subscriber
    "update",  # the last name becomes "Lovelace", the tags only "vip"; the first name stays
    "bulk",  # person@example.com and "nonsense", which fails with INVALID_EMAIL
    "error",  # a missing subscriber: 404 with the code SubscriberNotFound
    "events",  # a disabled webhook, then a tag: one event, with an integer as its sequence
    "payload",  # ROSTER_EVENT is decoded as an event of a subscriber
]
CREATED = "ada@example.com"


@dataclass(frozen=True)
class Program:
    """The command of a program and its environment."""

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, **settings: str) -> list[str]:
        """Returns the lines that the program printed.

        Raises AssertionError with its output if the exit code is not 0.
        """
        done = subprocess.run(
            self.command,
            env={**os.environ, **self.environment, **settings},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout.splitlines()


def generate(language: str, document: str, folder: Path) -> Path:
    """Generates the client of a language and returns its folder."""
    source, client = folder / "openapi.json", folder / "client"
    source.write_text(document)
    java, jar = program("java", "java"), file("openapi-generator/generator.jar", SCRIPT)
    options = f"-g {GENERATORS[language]} -i {source} -o {client}"
    shell(f"{java} -jar {jar} generate {options}", folder, {})
    return client


def make(language: str, document: str, folder: Path) -> Program:
    """Generates and compiles the client of a language and its program."""
    shutil.copytree(FOLDER / language, folder, dirs_exist_ok=True)
    client = generate(language, document, folder)
    return {"go": _go, "python": _python, "typescript": _typescript}[language](folder, client)


def _go(folder: Path, client: Path) -> Program:
    # The tests of the client have dependencies that the client does not have.
    shutil.rmtree(client / "test")
    shell("go vet ./... github.com/GIT_USER_ID/GIT_REPO_ID", folder, go_environment())
    shell("go build -o walk .", folder, go_environment())
    return Program([str(folder / "walk")])


def _python(folder: Path, client: Path) -> Program:
    python = str(file("openapi-generator/python/bin/python", SCRIPT))
    shell(f"{python} -W error -m compileall -q {client}", folder, {})
    return Program([python, str(folder / "walk.py")], {"PYTHONPATH": str(client)})


def _typescript(folder: Path, _client: Path) -> Program:
    node = program("node", "typescript")
    packages = file("typescript/packages/node_modules", "typescript")
    (folder / "node_modules").symlink_to(packages)
    shell(f"{node} node_modules/typescript/bin/tsc", folder, {})
    return Program([node, str(folder / "compiled/walk.js")])
