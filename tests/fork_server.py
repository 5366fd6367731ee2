"""Runs `roster` commands and Python code in processes forked from one that has imported the server.

Importing the server takes most of a second of CPU time, a fork a few milliseconds. The forked
processes are otherwise ordinary: each has its own session, environment, working directory and
standard streams, and runs its exit handlers.

The fork server has imported gRPC but never uses it: gRPC does not survive a fork once it runs.
Nothing is forked from the test process itself for the same reason.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache

# Maximum size of a request in bytes, including its environment.
MAX_REQUEST = 1 << 18
# Modules that serving and commands import when they start. Those of all commands follow.
PRELOADED = (
    "encodings.idna",
    "rich._emoji_codes",
    "rosterd.server.cli",
    "rosterd.server.serving.process",
    "rosterd.server.serving.services",
)
# Until this is called, commands run in interpreters of their own.
_enabled = False


def enable() -> None:
    """Runs commands of this process in forks. The first command starts the fork server."""
    global _enabled
    # Only Linux has descriptors that report the end of a process.
    _enabled = hasattr(os, "pidfd_open")


def is_enabled() -> bool:
    return _enabled


class ForkedProcess:
    """A forked process, with the methods of subprocess.Popen that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        *,
        stdin: int,
        stderr: int,
        code: str = "",
    ) -> None:
        """Runs `roster` with these arguments, or `code` as `python -c` does.

        `stdin` and `stderr` are file descriptors, of which a negative one is empty.
        """
        self.args = ["roster", *arguments]
        self.returncode: int | None = None
        self._status, status = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe()
        self.stdout = open(read, encoding="utf-8")  # noqa: SIM115 - closed with the process
        request = json.dumps([list(arguments), dict(env), os.getcwd(), code]).encode()
        with status:
            streams = [write, stderr, status.fileno(), *([stdin] if stdin >= 0 else [])]
            socket.send_fds(_control(), [request], streams)
        os.close(write)
        self.pid = int(self._read())

    def poll(self) -> int | None:
        """Returns the exit code, or None if the process is running."""
        return self._exit_code(timeout=0)

    def wait(self, timeout: float) -> int:
        """Waits for the end of the process. Raises subprocess.TimeoutExpired."""
        code = self._exit_code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _exit_code(self, timeout: float) -> int | None:
        """Waits for the exit code. Returns None after a timeout in seconds."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            with suppress(TimeoutError, BlockingIOError):
                self.returncode = int(self._read())
                self._status.close()
        return self.returncode

    def _read(self) -> bytes:
        """Reads a line of the fork server: the process ID first, the exit code at the end."""
        line = self._status.recv(64)
        assert line, "the fork server has ended"
        return line


@cache
def _control() -> socket.socket:
    """Starts the fork server of this process, and returns the socket for requests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            env={**os.environ, "GRPC_ENABLE_FORK_SUPPORT": "0", "GRPC_VERBOSITY": "NONE"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def end() -> None:
        ours.close()
        server.wait(timeout=60)

    atexit.register(end)
    return ours


def _serve(control: socket.socket) -> tuple[list[str], str]:
    """Forks a process per request. In the forked process, returns the arguments and the code."""
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fileobj)
                    _report_end(*key.data)
                    continue
                request, descriptors, _, _ = socket.recv_fds(control, MAX_REQUEST, 4)
                if not request:
                    sys.exit()
                stdout, stderr, status, *stdin = descriptors
                pid = os.fork()
                if pid == 0:
                    for other in selector.get_map().values():
                        if other.data is not None:
                            os.close(other.data[1])
                            os.close(other.data[2])
                    control.close()
                    os.close(status)
                    return _become(request, [*stdin, stdout, stderr])
                for descriptor in (*stdin, stdout, stderr):
                    os.close(descriptor)
                os.write(status, b"%d" % pid)
                handle = os.pidfd_open(pid)
                selector.register(handle, selectors.EVENT_READ, (pid, handle, status))


def _report_end(pid: int, handle: int, status: int) -> None:
    """Reports the exit code of a process that has ended."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(handle)
    with suppress(BrokenPipeError):
        os.write(status, b"%d" % code)
    os.close(status)


def _become(request: bytes, streams: list[int]) -> tuple[list[str], str]:
    """Applies the streams, environment and working directory of a request to this process.

    Without a standard input among the streams, that of the fork server stays, which is empty.
    """
    arguments, environment, folder, code = json.loads(request)
    os.setsid()
    for descriptor, standard in zip(reversed(streams), (2, 1, 0), strict=False):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    return ["-c" if code else "roster", *arguments], code


def _end(codes: list[int]) -> None:
    """Ends the process with an exit code, if it has one, without freeing its objects.

    That would take longer than most commands, because it copies all pages that the processes share.
    """
    if codes:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(codes[0])


if __name__ == "__main__":
    CODES: list[int] = []
    # The first handler runs last.
    atexit.register(_end, CODES)
    for name in PRELOADED:
        importlib.import_module(name)
    for command in pkgutil.iter_modules(sys.modules["rosterd.server.cli"].__path__):
        importlib.import_module(f"rosterd.server.cli.{command.name}")
    # The garbage collector would otherwise write to shared pages in each process.
    gc.freeze()
    sys.argv, CODE = _serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        if CODE:
            exec(CODE, {"__name__": "__main__"})
        else:
            runpy.run_module("server", run_name="__main__", alter_sys=True)
        CODES.append(0)
    except SystemExit as end:
        if isinstance(end.code, int):
            CODES.append(end.code)
        raise
