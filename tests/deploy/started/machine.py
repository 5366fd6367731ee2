"""Builds the image of the Containerfile, and runs it as a machine with systemd-nspawn.

A Debian archive with Python replaces the base image. Each run has its own overlay, so the image
does not change.
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
from ...components import child_processes, wait_until

# Seconds; building an image takes minutes.
TIMEOUT = 600.0

ROOT = Path(__file__).parents[3]
FILE = ROOT / "server/deploy/Containerfile"
CERTIFICATES = "/etc/ssl/certs"


@dataclass
class Image:
    """A built image: its folder and its configuration."""

    folder: Path
    config: dict[str, Any]


@contextmanager
def built(folder: Path) -> Iterator[Image]:
    """Builds the image in a folder, for the length of the block."""
    skip_unless_machines_can_run(folder)
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
    mounted = Path(buildah("mount", "built").strip())
    try:
        skip_unless_image_boots(mounted)
        config = json.loads(buildah("inspect", "--type=image", "roster"))
        yield Image(mounted, config["Docker"]["config"])
    finally:
        buildah("umount", "built")


def skip_unless_machines_can_run(folder: Path) -> None:
    """Skips the test without the permission for namespaces and mounts."""
    if not tools.are_required():
        pytest.skip("takes a minute; runs with ROSTER_TOOLS=required")
    if os.geteuid() != 0:
        pytest.skip("requires root")
    mount = f"mount -t tmpfs none {folder} && mount -t proc none /proc"
    command = ["unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "sh", "-c", mount]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0:
        pytest.skip(f"machines cannot run here: {done.stderr.strip()}")


def skip_unless_image_boots(folder: Path) -> None:
    """Skips the test if a machine that does nothing cannot run."""
    nspawn = tools.program("systemd-nspawn", "machine")
    flags = ("--quiet", "--register=no", "--keep-unit", "--volatile=overlay")
    command = [nspawn, *flags, f"--directory={folder}", "true"]
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT
    )
    if done.returncode != 0:
        pytest.skip(f"machines cannot run here: {done.stderr.strip()}")


class Buildah:
    """Runs buildah with a separate image store."""

    def __init__(self, program: str, folder: Path) -> None:
        self._start = (program, "--root", folder / "images", "--runroot", folder / "run")

    def __call__(self, *words: str | Path) -> str:
        """Runs a command and returns its output. It must succeed."""
        done = subprocess.run(
            [*self._start, *words], capture_output=True, text=True, timeout=TIMEOUT
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def base(self, name: str, archive: Path) -> None:
        """Creates an image from an archive."""
        self("from", "--name=base", "scratch")
        self("add", "base", archive, "/")
        # The CA certificates for package registries.
        for variable in os.environ.keys() & {"SSL_CERT_FILE"}:
            self("config", "--env", f"{variable}={os.environ[variable]}", "base")
        self("commit", "base", name)


@dataclass
class Machine:
    """A running machine; it shares only the network with the host."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def first(self) -> int:
        """The process ID of the first process of the machine, on the host."""
        wait_until(lambda: self.process.poll() is not None or bool(self._children()), "started")
        assert self.process.poll() is None, self.log.read_text()
        return self._children()[0]

    def _children(self) -> list[int]:
        return child_processes(self.process.pid)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a program in the machine."""
        inside = ["nsenter", f"--target={self.first}", "--mount", "--pid", "--uts", "--ipc"]
        return subprocess.run([*inside, *words], capture_output=True, text=True, timeout=TIMEOUT)

    def output(self, *words: str) -> str:
        """Runs a program in the machine and returns its output. It must succeed."""
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
