"""A Debian with Roster as the Containerfile installs it: a folder, which is run as a machine.

It is built by the Containerfile's own steps, on a Debian with Python that stands in for the
base named there. Nothing that is run in it changes it: each run has a layer of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ... import tools
from ...parts import wait_until, workers_of

# To build an image takes minutes.
LONG = 600.0

ROOT = Path(__file__).parents[3]
FILE = ROOT / "server/deploy/Containerfile"
CERTIFICATES = "/etc/ssl/certs"


@dataclass
class Image:
    """What was built: its folder, and what it says of how it is run."""

    folder: Path
    config: dict[str, Any]


@contextmanager
def built(folder: Path) -> Iterator[Image]:
    """Builds the image by the Containerfile; `folder` holds it until the block ends."""
    may_run_machines(folder)
    tools.program("systemd-nspawn", "machine")
    buildah = Buildah(tools.program("buildah", "machine"), folder)
    base = next(
        line.split()[1] for line in FILE.read_text().splitlines() if line.startswith("FROM")
    )
    buildah.base(base, tools.file("machine/debian.tar", "machine"))
    buildah(
        *("bud", "--pull=never", "--layers=false", "--isolation=chroot", "--format=docker"),
        *(f"--volume={CERTIFICATES}:{CERTIFICATES}:ro", f"--file={FILE}", "--tag=roster", ROOT),
    )
    buildah("from", "--pull=never", "--name=built", "roster")
    place = buildah("mount", "built")
    try:
        may_boot(Path(place.strip()))
        config = json.loads(buildah("inspect", "--type=image", "roster"))
        yield Image(Path(place.strip()), config["Docker"]["config"])
    finally:
        buildah("umount", "built")


def may_run_machines(folder: Path) -> None:
    """Ends the running test where nobody may: root needs namespaces, and mounts in them."""
    if not tools.are_required():
        pytest.skip("to build an image and to run it takes a minute; ROSTER_TOOLS=required does")
    if os.geteuid() != 0:
        pytest.skip("only root runs machines")
    mount = f"mount -t tmpfs none {folder} && mount -t proc none /proc"
    tried = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "sh", "-c", mount]
    done = subprocess.run(tried, capture_output=True, text=True, timeout=LONG)
    if done.returncode != 0:
        pytest.skip(f"this machine lets nobody run another in it: {done.stderr.strip()}")


def may_boot(folder: Path) -> None:
    """Ends the running test where not even a machine that does nothing can be run."""
    nspawn = tools.program("systemd-nspawn", "machine")
    flags = ("--quiet", "--register=no", "--keep-unit", "--volatile=overlay")
    tried = [nspawn, *flags, f"--directory={folder}", "true"]
    done = subprocess.run(
        tried, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONG
    )
    if done.returncode != 0:
        pytest.skip(f"this machine lets nobody run another in it: {done.stderr.strip()}")


class Buildah:
    """The program that builds, with a store of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self._start = (program, "--root", folder / "images", "--runroot", folder / "run")

    def __call__(self, *words: str | Path) -> str:
        """Runs a command and returns what it printed. Raises AssertionError if it fails."""
        done = subprocess.run([*self._start, *words], capture_output=True, text=True, timeout=LONG)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def base(self, name: str, archive: Path) -> None:
        """Gives the files of an archive the name of an image."""
        self("from", "--name=base", "scratch")
        self("add", "base", archive, "/")
        # By whom registries are vouched for on this machine.
        for variable in os.environ.keys() & {"SSL_CERT_FILE"}:
            self("config", "--env", f"{variable}={os.environ[variable]}", "base")
        self("commit", "base", name)


@dataclass
class Machine:
    """A folder that runs as a machine: all but the network is its own."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def first(self) -> int:
        """The id of the machine's first process, as this machine has it."""
        wait_until(lambda: self.process.poll() is not None or bool(self._children()), "started")
        assert self.process.poll() is None, self.log.read_text()
        return self._children()[0]

    def _children(self) -> list[int]:
        return workers_of(self.process.pid)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in the machine."""
        inside = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--uts", "--ipc"]
        return subprocess.run([*inside, *words], capture_output=True, text=True, timeout=LONG)

    def says(self, *words: str) -> str:
        """Returns what a program in the machine prints. Raises AssertionError if it fails."""
        done = self.run(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr, self.log.read_text())
        return done.stdout.strip()


@contextmanager
def machine(image: Image, log: Path, *flags: str, words: Sequence[str] = ()) -> Iterator[Machine]:
    """Runs a machine for the length of a block."""
    program = tools.program("systemd-nspawn", "machine")
    name = f"roster-{uuid.uuid4().hex[:8]}"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [
                *(program, "--quiet", "--register=no", "--keep-unit", "--console=pipe"),
                *(f"--machine={name}", f"--directory={image.folder}", *flags, *words),
            ],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Machine(process, log)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        process.wait(timeout=60)
