"""The protobuf conformance suite, asked of the JSON codec.

`failures.txt` names the tests that are expected to fail, one a line. The runner fails
both for one that fails and is not named there, and for one that is named and passes.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import grpc_tools
import pytest
from grpc_tools import protoc

from .. import tools

pytestmark = pytest.mark.verify

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
FAILURES = FOLDER / "failures.txt"
# The suite has 2,779 tests of binary and JSON.
FEWEST = 2_000
SUMMARY = re.compile(r"(\d+) successes, (\d+) skipped, (\d+) expected failures, (\d+) unexpected")


@pytest.fixture
def descriptors(tmp_path: Path) -> Path:
    """Returns a file with the descriptors of the suite's messages."""
    protos = tools.file("conformance/protos", "conformance")
    known = Path(grpc_tools.__file__).parent / "_proto"
    target = tmp_path / "messages.binpb"
    names = [str(file.relative_to(protos)) for file in sorted(protos.rglob("*.proto"))]
    command = ["protoc", f"-I{protos}", f"-I{known}", f"--descriptor_set_out={target}", *names]
    assert protoc.main(command) == 0
    return target


def test_the_codec_passes_the_conformance_suite_with_what_it_recommends(
    descriptors: Path, tmp_path: Path
) -> None:
    library = tools.file("conformance/lib", "conformance")
    runner = tools.file("conformance/runner", "conformance")
    testee = tmp_path / "testee"
    program = f"exec '{sys.executable}' -m tests.conformance.testee '{descriptors}'"
    testee.write_text(f"#!/bin/sh\ncd '{ROOT}'\n{program}\n")
    testee.chmod(0o755)

    run = subprocess.run(
        [
            *(library / "ld-linux-x86-64.so.2", "--library-path", library, runner),
            *("--enforce_recommended", "--failure_list", FAILURES, "--output_dir", tmp_path),
            testee,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )

    assert run.returncode == 0, run.stdout[-5_000:]
    told = [tuple(map(int, found)) for found in SUMMARY.findall(run.stdout)]
    # The first suite is binary and JSON; the second is the text format, all of it skipped.
    successes, skipped, expected, unexpected = told[0]
    assert successes > FEWEST
    assert (skipped, unexpected) == (0, 0)
    assert expected == len(expected_failures())


def expected_failures() -> list[str]:
    lines = [line.partition("#")[0].strip() for line in FAILURES.read_text().splitlines()]
    return [line for line in lines if line]
