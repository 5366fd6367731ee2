"""Clients that OpenAPI Generator makes of /openapi.json, and what uses them.

The generator runs with its defaults. Each language keeps a program in the folder of its name,
which calls the service through the generated client and asserts everything itself. It finds
the service in ROSTER_URL, a key in ROSTER_KEY and the body of a request to a webhook in
ROSTER_EVENT, prints each of STEPS as a line once it has held, and ends with 0.
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
# The name that the generator has for each language.
GENERATORS = {"go": "go", "python": "python", "typescript": "typescript-fetch"}

STEPS = [
    "create",  # CREATED below, confirmed, with two tags and the value "pro" of a new custom field
    "get",  # the same, with the time of creation
    "list",  # by status CONFIRMED: the same alone
    "update",  # the last name becomes "Lovelace", the tags "vip" alone; the first name stays
    "bulk",  # person@example.com and "nonsense", which alone fails, as INVALID_EMAIL
    "error",  # a subscriber that there is not: 404 with the code SubscriberNotFound
    "events",  # a disabled webhook, then a tag: the one event, with a sequence that is an integer
    "payload",  # the text in ROSTER_EVENT is an event of a subscriber
]
CREATED = "ada@example.com"


@dataclass(frozen=True)
class Program:
    """A program that is ready to be started, and what it is started with."""

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, **settings: str) -> list[str]:
        """Returns the lines that the program printed.

        Raises AssertionError with its output if it does not end with 0.
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
    """Generates the client of a language into a folder; returns where it is."""
    source, client = folder / "openapi.json", folder / "client"
    source.write_text(document)
    java, jar = program("java", "java"), file("openapi-generator/generator.jar", SCRIPT)
    options = f"-g {GENERATORS[language]} -i {source} -o {client}"
    shell(f"{java} -jar {jar} generate {options}", folder, {})
    return client


def make(language: str, document: str, folder: Path) -> Program:
    """Generates and compiles the client of a language with the program that uses it."""
    shutil.copytree(FOLDER / language, folder, dirs_exist_ok=True)
    client = generate(language, document, folder)
    return {"go": _go, "python": _python, "typescript": _typescript}[language](folder, client)


def _go(folder: Path, client: Path) -> Program:
    # Tests of the client need what it does not need itself.
    shutil.rmtree(client / "test")
    shell("go vet ./... github.com/GIT_USER_ID/GIT_REPO_ID", folder, go_environment())
    shell("go build -o walk .", folder, go_environment())
    return Program([str(folder / "walk")])


def _python(folder: Path, client: Path) -> Program:
    python = str(file("openapi-generator/python/bin/python", SCRIPT))
    shell(f"{python} -W error -m compileall -q {client}", folder, {})
    return Program([python, str(folder / "walk.py")], {"PYTHONPATH": str(client)})


def _typescript(folder: Path, client: Path) -> Program:
    node = program("node", "typescript")
    packages = file("typescript/packages/node_modules", "typescript")
    (folder / "node_modules").symlink_to(packages)
    shell(f"{node} node_modules/typescript/bin/tsc", folder, {})
    return Program([node, str(folder / "compiled/walk.js")])
