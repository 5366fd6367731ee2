"""Java: stubs made as the README says, from the descriptor image, and compiled.

That takes some seconds, so the classes are kept beside the tools until the image, or
what the stubs are made with, is another.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterable
from pathlib import Path

from .. import tools
from .programs import FOLDER, ROOT, Programs, readme_commands, shell

IMAGE = ROOT / "generated" / "roster.binpb"
SOURCES = FOLDER / "java"
# A program that runs for a second is over before the second compiler pays.
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def make(folder: Path) -> Programs:
    """Compiles the stubs, if that was not done, and the programs."""
    java, javac = tools.program("java", "java"), tools.program("javac", "java")
    installed = tools.file("java/pom.xml", "java").parent
    stubs = compiled_stubs(javac, installed)
    path = f"{folder}:{stubs}:{installed / 'lib' / '*'}"
    compile_java(javac, path, folder, SOURCES.glob("*.java"))
    start = [java, *QUICK, "-cp", path]

    def example(text: str) -> list[str]:
        file = folder / "Example.java"
        file.write_text(text)
        return [*start, str(file)]

    return Programs([*start, "Walk"], [*start, "Corpus"], example)


def compiled_stubs(javac: str, installed: Path) -> Path:
    """Returns the folder of the stubs' classes."""
    generate = readme_commands("install: java")
    made_of = [IMAGE.read_bytes(), (installed / "pom.xml").read_bytes(), generate.encode()]
    target = installed / f"stubs-{hashlib.sha256(b'|'.join(made_of)).hexdigest()[:12]}"
    if target.exists():
        return target
    for old in installed.glob("stubs-*"):
        shutil.rmtree(old)
    sources, classes = installed / "stubs-sources", installed / "stubs-classes"
    sources.mkdir()
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    shell(generate, ROOT, {"PATH": path, "OUT": str(sources)})
    compile_java(javac, str(installed / "lib" / "*"), classes, sources.rglob("*.java"))
    return classes.rename(target)


def compile_java(javac: str, path: str, out: Path, files: Iterable[Path]) -> None:
    """Compiles files to classes in a folder."""
    options = [*(f"-J{option}" for option in QUICK), "-proc:none", "-nowarn"]
    names = [str(file) for file in files]
    command = [javac, *options, "-cp", path, "-d", str(out), *names]
    shell(shlex.join(command), out.parent, {})
