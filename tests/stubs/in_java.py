"""Java: stubs made with the documented commands from the descriptor image, and compiled.

That takes many seconds, so what was made is kept beside the tools until the image, or
what the stubs are made with, is another.
"""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from .. import tools
from .programs import FOLDER, ROOT, Programs, documented_commands, shell

IMAGE = ROOT / "generated" / "roster.binpb"
SOURCES = FOLDER / "java"
# A program that runs for a second is over before the second compiler pays.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def make(folder: Path) -> Programs:
    """Compiles the stubs, if that was not done, and the programs."""
    java, javac = tools.program("java", "java"), tools.program("javac", "java")
    made = stubs(javac)
    path = f"{folder}:{made / 'classes'}:{made / 'lib' / '*'}"
    compile_java(javac, path, folder, SOURCES.glob("*.java"))
    start = [java, *QUICK, "-cp", path]

    def example(text: str) -> list[str]:
        file = folder / "Example.java"
        file.write_text(text)
        return [*start, str(file)]

    return Programs(*([*start, name] for name in ("Walk", "Corpus", "Large")), example=example)


def stubs(javac: str) -> Path:
    """Returns a folder of what the documented commands make: `lib`, `sources`, and `classes`."""
    repository = tools.file("java/repository", "java")
    folder, commands = repository.parent, documented_commands("install: java")
    made_of = [IMAGE.read_bytes(), (SOURCES / "pom.xml").read_bytes(), commands.encode()]
    target = folder / f"stubs-{hashlib.sha256(b'|'.join(made_of)).hexdigest()[:12]}"
    if target.exists():
        return target
    for old in folder.glob("stubs-*"):
        shutil.rmtree(old)
    making = folder / "stubs-making"
    environment = {
        "LIB": str(making / "lib"),
        "OUT": str(making / "sources"),
        "PLATFORM": (folder / "platform").read_text().strip(),
        "MAVEN_OPTS": f"-Dmaven.repo.local={repository}",
    }
    shell(commands, ROOT, environment)
    sources = (making / "sources").rglob("*.java")
    compile_java(javac, str(making / "lib" / "*"), making / "classes", sources)
    return making.rename(target)


def compile_java(javac: str, path: str, out: Path, files: Iterable[Path]) -> None:
    """Compiles files to classes in a folder."""
    options = [*(f"-J{option}" for option in QUICK), "-proc:none", "-nowarn"]
    names = [str(file) for file in files]
    command = [javac, *options, "-cp", path, "-d", str(out), *names]
    shell(shlex.join(command), out.parent, {})
