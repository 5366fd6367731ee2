"""Runs the protobuf conformance suite on the JSON codec.

`failures.txt` lists the tests that are expected to fail, one per line. The run fails if another
test fails, or if one of these passes.
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
MIN_SUCCESSES = 2_000
SUMMARY = re.compile(r"(\d+) successes, (\d+) skipped, (\d+) expected failures, (\d+) unexpected")


@pytest.fixture
def descriptors(tmp_path: Path) -> Path:
    """A file with the descriptors of the suite's messages."""
    protos = tools.file("conformance/protos", "conformance")
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    target = tmp_path / "messages.binpb"
    names = [str(file.relative_to(protos)) for file in sorted(protos.rglob("*.proto"))]
    command = ["protoc", f"-I{protos}", f"-I{well_known}", f"--descriptor_set_out={target}", *names]
    assert protoc.main(command) == 0
    return target


def test_codec_passes_required_and_recommended_conformance_tests(
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
    # The summary of binary and JSON, then that of the text format, which is skipped.
    first, *_ = SUMMARY.findall(run.stdout)
    successes, skipped, expected, unexpected = map(int, first)
    assert successes > MIN_SUCCESSES
    assert (skipped, unexpected) == (0, 0)
    assert expected == len(expected_failures())


def expected_failures() -> list[str]:
    lines = [line.partition("#")[0].strip() for line in FAILURES.read_text().splitlines()]
    return [line for line in lines if line]
