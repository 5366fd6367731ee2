"""Runs the receivers of the guide to webhooks and the libraries of each language."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...components import free_port
from ...documents import code
from ...stubs.in_go import go_environment
from ...stubs.programs import shell
from ...tools import file, program
from .raw_receivers import PUBLIC

GUIDE = "server/guides/webhooks.md"
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 60.0

T = TypeVar("T")


@dataclass(frozen=True)
class Language:
    """The commands of a language.

    `verify` reads requests, one per line, and prints `accepted` or a reason. `receive` is the
    receiver of the guide.
    """

    verify: list[str]
    receive: list[str]


def write_receiver(name: str, folder: Path, guide: str = GUIDE) -> Path:
    """Writes a receiver of a guide to a file and returns its path."""
    path = folder / name
    path.write_text(code(guide, f"example: {name}"))
    return path


def in_python(folder: Path) -> Language:
    commands = (PROGRAMS / "verify.py", write_receiver("receiver.py", folder))
    verify, receive = ([sys.executable, str(path)] for path in commands)
    return Language(verify, receive)


def in_javascript(folder: Path) -> Language:
    """Copies the files next to the package that they import."""
    node = program("node", "typescript")
    packages = file("typescript/webhooks/node_modules", "typescript")
    (folder / "node_modules").symlink_to(packages)
    shutil.copy(PROGRAMS / "verify.mjs", folder)
    write_receiver("receiver.mjs", folder)
    verify, receive = ([node, str(folder / name)] for name in ("verify.mjs", "receiver.mjs"))
    return Language(verify, receive)


def in_go(folder: Path) -> Language:
    """Builds the files as packages of one module."""
    environment = go_environment()
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    (folder / "receiver").mkdir()
    write_receiver("receiver.go", folder / "receiver")
    shell("go build -o built/ . ./receiver", folder, environment)
    verify, receive = ([str(folder / "built" / name)] for name in ("verify", "receiver"))
    return Language(verify, receive)


LANGUAGES: dict[str, Callable[[Path], Language]] = {
    "python": in_python,
    "javascript": in_javascript,
    "go": in_go,
}


@dataclass(frozen=True)
class Running:
    """A running receiver, and the file with its output."""

    url: str
    output: Path

    def wait_for_lines(self, count: int) -> list[str]:
        """Waits until it has printed `count` lines, and returns all."""
        return wait_until(
            lambda: self.output.read_text().splitlines(), lambda lines: len(lines) >= count
        )


@contextmanager
def running(
    language: Language, secret: str, folder: Path, port: int = 0, **variables: str
) -> Iterator[Running]:
    """Runs a receiver, by default on a free port; `variables` are for its environment."""
    port = port or free_port()
    output = folder / "output.txt"
    with output.open("w") as out:
        running_worker = subprocess.Popen(
            language.receive,
            env={**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port), **variables},
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
    try:
        wait_until(lambda: listens(port), bool)
        yield Running(f"http://{PUBLIC}:{port}/", output)
    finally:
        running_worker.kill()
        running_worker.wait(timeout=TIMEOUT)


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((PUBLIC, port)) == 0


def wait_until(read: Callable[[], T], condition: Callable[[T], bool]) -> T:
    end = time.monotonic() + TIMEOUT
    while not condition(value := read()):
        assert time.monotonic() < end, value
        time.sleep(0.01)
    return value
