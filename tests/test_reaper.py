"""Processes that tests start end with the tests, and every wait for them is bounded."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from .components import is_alive, wait_until
from .processes import limited

ROOT = Path(__file__).parent.parent
# The list of shared memory segments on Linux.
SEGMENTS = Path("/proc/sysvipc/shm")
# Measurements run for a configured duration.
MEASURE = ("tests/bench", "tests/faults/promises")
# Calls that wait for the end of a process.
WAITS = ("subprocess.run", "subprocess.check_output", ".communicate", "process.wait")
# A test process with a server, and with a program that has left its group and its session.
STARTS = """
import json, subprocess, sys
from tests import memory, postgres, reaper
reaper.start()
with postgres.running() as server, memory.folder() as folder:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1, start_new_session=True)
    first = server._server.get_pid()
    data = server.run("SHOW data_directory")[0][0]
    print(json.dumps([[first, other.pid], [data, str(folder)]]), flush=True)
    input()
"""


def shared_memory(data: str) -> str:
    """Returns the key of a PostgreSQL server's shared memory; its data is in `folder`."""
    return Path(data, "postmaster.pid").read_text().splitlines()[6].split()[1]


def segments() -> set[str]:
    """Returns the ids of the segments of shared memory on this machine."""
    lines = SEGMENTS.read_text().splitlines()[1:]
    return {line.split()[1] for line in lines}


@contextmanager
def running_program(code: str) -> Iterator[subprocess.Popen[str]]:
    """Runs a program in a new test process with pipes, and waits until it ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, limited(process):
        yield process


@pytest.mark.skipif(not SEGMENTS.exists(), reason="segments of memory are not listed here")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_test_process_started_ends_with_it_and_leaves_no_memory(
    number: signal.Signals,
) -> None:
    with running_program(STARTS) as process:
        assert process.stdout is not None
        ids, folders = json.loads(process.stdout.readline())
        segment = shared_memory(folders[0])
        # The backend of a closed connection may just end.
        backends = list(filter(is_alive, (each.pid for each in psutil.Process(ids[0]).children())))
        assert segment in segments()
        assert backends
        assert all(map(is_alive, ids))

        process.send_signal(number)

    wait_until(lambda: not any(map(is_alive, [*ids, *backends])), "processes are left")
    wait_until(lambda: not any(map(os.path.exists, folders)), "folders are left")
    assert segment not in segments()


# A test process with a forked service.
SERVES = """
import sys
from pathlib import Path
from tests import fork_server, memory, processes, reaper
reaper.start()
fork_server.enable()
with memory.folder() as folder:
    print(processes.start(folder).process.pid, flush=True)
    input()
"""


@pytest.mark.verify
def test_forked_service_ends_with_the_test_process() -> None:
    with running_program(SERVES) as process:
        assert process.stdout is not None
        service = int(process.stdout.readline())
        assert is_alive(service)

        process.kill()

    wait_until(lambda: not is_alive(service), "the service is left")


# Ignores SIGINT, like a background job of a script, and prints how a child process handles it.
IN_BACKGROUND = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from tests.conftest import pytest_collection_finish
pytest_collection_finish()
signal.raise_signal(signal.SIGINT)
program = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
subprocess.run([sys.executable, "-c", program], timeout=20)
"""


def test_programs_heed_sigint_where_the_tests_were_started_with_it_ignored() -> None:
    words = [sys.executable, "-c", IN_BACKGROUND]

    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60)

    assert (done.returncode, done.stdout) == (0, "True\n")


def waits_without_bound(file: Path) -> Iterator[str]:
    """Yields the locations of calls that wait for a process without a timeout."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = ast.unparse(node.func)
            if name.endswith(WAITS) and "timeout" not in {keyword.arg for keyword in node.keywords}:
                yield f"{file.relative_to(ROOT)}:{node.lineno}"


def test_every_wait_for_the_end_of_a_process_has_an_upper_bound() -> None:
    files = [
        file
        for file in (ROOT / "tests").rglob("*.py")
        if not str(file.relative_to(ROOT)).startswith(MEASURE)
    ]

    assert [place for file in files for place in waits_without_bound(file)] == []
