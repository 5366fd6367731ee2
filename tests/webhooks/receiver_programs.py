"""The receivers that `/docs/webhooks` shows, and the published verifiers, ready to be run."""

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

from ..parts import free_port
from ..stubs.in_go import go_environment
from ..stubs.programs import shell
from ..tools import file, program
from .raw_receivers import PUBLIC

RECEIVERS = Path(__file__).parents[2] / "http_gateway/docs/receivers"
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 20.0

T = TypeVar("T")


@dataclass(frozen=True)
class Language:
    """The commands of a language.

    `verify` reads requests, one a line, and says `accepted` or why not; `receive` is the
    receiver of the page, word for word.
    """

    verify: list[str]
    receive: list[str]


def in_python(folder: Path) -> Language:
    """Runs the files where they are."""
    commands = (PROGRAMS / "verify.py", RECEIVERS / "receiver.py")
    verify, receive = ([sys.executable, str(path)] for path in commands)
    return Language(verify, receive)


def in_javascript(folder: Path) -> Language:
    """Puts the files beside the package that they import."""
    node = program("node", "typescript")
    packages = file("typescript/webhooks/node_modules", "typescript")
    (folder / "node_modules").symlink_to(packages)
    shutil.copy(PROGRAMS / "verify.mjs", folder)
    shutil.copy(RECEIVERS / "receiver.mjs", folder)
    verify, receive = ([node, str(folder / name)] for name in ("verify.mjs", "receiver.mjs"))
    return Language(verify, receive)


def in_go(folder: Path) -> Language:
    """Builds the files as packages of one module."""
    environment = go_environment()
    shutil.copytree(PROGRAMS, folder, dirs_exist_ok=True)
    (folder / "receiver").mkdir()
    shutil.copy(RECEIVERS / "receiver.go", folder / "receiver")
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
    """A receiver that runs: where it listens, and the file that it prints to."""

    url: str
    said: Path

    def wait_for_lines(self, count: int) -> list[str]:
        """Waits until it has printed so many lines, and returns all."""
        return _wait_until(
            lambda: self.said.read_text().splitlines(), lambda lines: len(lines) >= count
        )


@contextmanager
def running(language: Language, secret: str, folder: Path) -> Iterator[Running]:
    """Runs the receiver of a language for the length of a block."""
    port = free_port()
    said = folder / "said.txt"
    with said.open("w") as out:
        running_worker = subprocess.Popen(
            language.receive,
            env={**os.environ, "WEBHOOK_SECRET": secret, "PORT": str(port)},
            stdout=out,
            stderr=subprocess.DEVNULL,
        )
    try:
        _wait_until(lambda: _listens(port), bool)
        yield Running(f"http://{PUBLIC}:{port}/", said)
    finally:
        running_worker.kill()
        running_worker.wait(timeout=TIMEOUT)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((PUBLIC, port)) == 0


def _wait_until(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    end = time.monotonic() + TIMEOUT
    while not holds(seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.01)
    return seen
