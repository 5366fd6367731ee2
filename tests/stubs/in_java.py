"""Java: generates stubs from the descriptor image with the documented commands, and compiles them.

The build takes many seconds, so it is cached in .tools until its inputs change.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from .. import tools
from ..documents import CLIENTS, ROOT, code
from .programs import FOLDER, Programs, shell

IMAGE = ROOT / "generated" / "roster.binpb"
SOURCES = FOLDER / "java"
MAX_AGE_SECONDS = 86_400
# The optimizing compiler is not worthwhile for a program that runs for a second.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def make(folder: Path) -> Programs:
    """Compiles the stubs, unless they are cached, and the programs."""
    java, javac = tools.program("java", "java"), tools.program("javac", "java")
    build = stubs(javac)
    path = f"{folder}:{build / 'classes'}:{build / 'lib' / '*'}"
    compile_java(javac, path, folder, SOURCES.glob("*.java"))
    start = [java, *QUICK, "-cp", path]
    example = folder / "Example.java"
    example.write_text(code(CLIENTS, "example: java"))
    return Programs([*start, "Walk"], example=[*start, str(example)])


def stubs(javac: str) -> Path:
    """Returns the build folder with `lib`, `sources` and `classes`.

    Each process builds in a temporary folder and then renames it, so that test runs can share the
    cache.
    """
    repository = tools.file("java/repository", "java")
    folder, commands = repository.parent, code(CLIENTS, "install: java")
    inputs = [IMAGE.read_bytes(), (SOURCES / "pom.xml").read_bytes(), commands.encode()]
    target = folder / f"stubs-{hashlib.sha256(b'|'.join(inputs)).hexdigest()[:12]}"
    if target.exists():
        return target
    _remove_old_builds(folder)
    build = Path(tempfile.mkdtemp(prefix="stubs-", suffix="-building", dir=folder))
    environment = {
        "LIB": str(build / "lib"),
        "OUT": str(build / "sources"),
        "PLATFORM": (folder / "platform").read_text().strip(),
        "MAVEN_OPTS": f"-Dmaven.repo.local={repository}",
    }
    shell(commands, ROOT, environment)
    sources = (build / "sources").rglob("*.java")
    compile_java(javac, str(build / "lib" / "*"), build / "classes", sources)
    try:
        return build.rename(target)
    except OSError:
        if not target.exists():
            raise
        # Another process has finished the same build first.
        shutil.rmtree(build)
        return target


def _remove_old_builds(folder: Path) -> None:
    """Removes builds that are too old to belong to a running test."""
    for build in folder.glob("stubs-*"):
        if build.stat().st_mtime < time.time() - MAX_AGE_SECONDS:
            shutil.rmtree(build, ignore_errors=True)


def compile_java(javac: str, path: str, out: Path, files: Iterable[Path]) -> None:
    options = [*(f"-J{option}" for option in QUICK), "-proc:none", "-nowarn"]
    names = [str(file) for file in files]
    command = [javac, *options, "-cp", path, "-d", str(out), *names]
    shell(shlex.join(command), out.parent, {})
