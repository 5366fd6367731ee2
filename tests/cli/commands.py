"""Runs `roster` commands, in the test process if possible."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from unittest.mock import patch

import apsw

from rosterd.server.cli import main
from rosterd.server.serving.console import ExitCode

from ..processes import environment, limited, run_command

Done = subprocess.CompletedProcess[str]

FREE = {"ROSTER_HTTP_ADDRESS": "127.0.0.1:0", "ROSTER_GRPC_ADDRESS": "127.0.0.1:0"}
# Commands that run event loops, handle signals or configure logging. They run in a new process.
SERVING = {"serve", "serve-grpc", "serve-http", "worker"}
SECONDS = 60.0


def roster(*arguments: str, **settings: str) -> Done:
    """Runs a command until it exits. `settings` are environment variables."""
    env = environment(**{"COLUMNS": "200", **settings})
    if arguments[0] in SERVING:
        return in_new_process(*arguments, **settings)
    return in_this_process(list(arguments), env)


def in_new_process(
    *arguments: str, under: Sequence[str] = (), code: str = "", stdin: bytes = b"", **settings: str
) -> Done:
    """Runs a command in a new process until it exits. `under` and `code` are as for run_command.

    `stdin` is written to a pipe, its first byte before the others.
    """
    env = environment(**{"COLUMNS": "200", **settings})
    read, write = os.pipe()
    with NamedTemporaryFile() as errors, open(read, "rb") as source, open(write, "wb") as sink:
        log = Path(errors.name)
        process = run_command(*arguments, log=log, env=env, under=under, code=code, stdin=read)
        source.close()
        assert process.stdout is not None
        with process.stdout, limited(process):
            with sink:
                sink.write(stdin[:1])
                sink.flush()
                sink.write(stdin[1:])
            output = process.stdout.read()
        status = process.wait(timeout=SECONDS)
        return subprocess.CompletedProcess(arguments, status, output, errors.read().decode())


def in_this_process(arguments: list[str], env: dict[str, str]) -> Done:
    """Runs a command in the test process, which takes a tenth of the time of a new process."""
    output, errors = (TextIOWrapper(BytesIO(), "utf-8", newline="\n") for _ in range(2))
    with (
        patch.object(sys, "argv", ["roster", *arguments]),
        patch.dict(os.environ, env, clear=True),
        redirect_stdout(output),
        redirect_stderr(errors),
        _restored(),
    ):
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(arguments, code, _text(output), _text(errors))


@contextmanager
def _restored() -> Iterator[None]:
    """Restores the signal handler and the log level that a command changes."""
    handler, level = signal.getsignal(signal.SIGTERM), logging.root.level
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, handler)
        logging.root.setLevel(level)


def _text(stream: TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def json_output(url: str, *arguments: str) -> Any:
    """Runs a command that must succeed, and returns the JSON that it prints."""
    done = roster(*arguments, "--json", ROSTER_DATABASE_URL=url)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def error_line(done: Done, code: ExitCode) -> str:
    """Returns the single line that a failed command printed, as it is without --json."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    if "--json" in done.args:
        error = json.loads(line)["error"]
        return f"roster: {error['message']}"
    assert line.startswith("roster: ")
    return line


def accounts(path: Path) -> list[str]:
    """Returns the addresses of all accounts."""
    with closing(apsw.Connection(str(path))) as connection:
        return [str(email) for (email,) in connection.execute("SELECT email FROM account")]
