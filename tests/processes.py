"""Runs `roster serve` in a process of its own, on free ports."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rosterd.server.serving.secret_key import available_data_keys
from rosterd.server.storage.postgres.connection import connect, transaction
from rosterd.server.storage.sqlite import file
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.database_url import PostgresUrl, parse_database_url

from . import fork_server
from .fork_server import ForkedProcess

Process = subprocess.Popen[str] | ForkedProcess

_READY = re.compile(r"HTTP\s+http://(?P<http>\S+)\s+gRPC\s+(?P<grpc>\S+)")
_KEY = re.compile(r"rk_[0-9A-Za-z]{46}")


# Seconds that a program may take to print what a test waits for.
PATIENCE = 60.0


@contextmanager
def limited(
    process: subprocess.Popen[Any] | ForkedProcess, seconds: float = PATIENCE
) -> Iterator[None]:
    """Kills a process if the block takes longer, so that reading its output ends."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@dataclass
class Service:
    """A running service: its addresses, database, and first key if one was printed."""

    process: Process
    database_url: str
    log: Path
    http: str = ""
    grpc: str = ""
    first_key: str = ""
    # The setting; empty if the key is in a file.
    secret_key: str = ""
    printed: list[str] = field(default_factory=list)
    link: Any = None

    @contextmanager
    def unit_of_work(self) -> Iterator[Transaction]:
        """Runs a block as one transaction in the database of the service, as the command line does.

        The service has already migrated the schema. A connection to PostgreSQL is reused, because
        connecting takes longer than most tests.
        """
        place = parse_database_url(self.database_url)
        if not isinstance(place, PostgresUrl):
            with file.transaction(place) as tx:
                yield tx
            return
        if self.link is None:
            self.link = connect(place.url)
        with transaction(self.link) as tx:
            yield tx

    @property
    def database(self) -> Path:
        """The database file of a service on SQLite."""
        return Path(self.database_url.removeprefix("sqlite:///"))

    def data_key(self) -> bytes:
        """Returns the key from which those of all purposes are derived."""
        location = parse_database_url(self.database_url)
        with self.unit_of_work() as tx:
            keys = available_data_keys(self.secret_key, location, tx)
        assert keys is not None
        return keys.keys

    def traces(self) -> list[str]:
        """Returns the lines of its log with unexpected errors."""
        lines = self.log.read_text().splitlines()
        return [line for line in lines if "Traceback" in line or '"exception"' in line]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends the process by a signal and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Waits for the process and returns its exit code."""
        if self.link is not None:
            self.link.close()
        code = self.process.wait(timeout=PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def environment(**settings: str) -> dict[str, str]:
    """Returns an environment with these settings of Roster only. Metrics get a free port."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ROSTER_")}
    return {**clean, "ROSTER_METRICS_ADDRESS": "127.0.0.1:0", **settings}


def run_command(
    *arguments: str,
    log: Path,
    env: Mapping[str, str],
    under: Sequence[str] = (),
    code: str = "",
    stdin: int = subprocess.DEVNULL,
) -> Process:
    """Starts a command, with its log in a file.

    `under` is a program with arguments that executes the interpreter. `code` is Python code that
    runs the command line. `stdin` is a file descriptor.
    """
    with log.open("a") as sink:
        if fork_server.is_enabled() and not under:
            return ForkedProcess(arguments, env, stdin=stdin, stderr=sink.fileno(), code=code)
        program = ("-c", code) if code else ("-m", "rosterd.server")
        return subprocess.Popen(
            [*under, sys.executable, *program, *arguments],
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=sink,
            text=True,
            # Without a terminal, even if the tests have one.
            start_new_session=True,
        )


def start(folder: Path, *, under: Sequence[str] = (), code: str = "", **settings: str) -> Service:
    """Starts a service, by default on `folder`/roster.db, and returns once it serves.

    `settings` are environment variables. `under` and `code` are those of run_command. Raises
    AssertionError with its log if it ends instead.
    """
    log = folder / "service.log"
    settings = {
        "ROSTER_HTTP_ADDRESS": "127.0.0.1:0",
        "ROSTER_GRPC_ADDRESS": "127.0.0.1:0",
        "ROSTER_DATABASE_URL": f"sqlite:///{folder / 'roster.db'}",
        "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8,::1/128",
        "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
        "ROSTER_SIGNUP_RATE_LIMIT": "off",
        **settings,
    }
    process = run_command("serve", log=log, env=environment(**settings), under=under, code=code)
    secret_key = settings.get("ROSTER_SECRET_KEY", "")
    service = Service(process, settings["ROSTER_DATABASE_URL"], log, secret_key=secret_key)
    assert process.stdout is not None
    with limited(process):
        for line in process.stdout:
            service.printed.append(line)
            if "curl" in line and "-d" not in line and "\\" not in line:
                break
    text = "".join(service.printed)
    match = _READY.search(text)
    if match is None:
        process.wait(timeout=60)
        raise AssertionError(f"roster serve ended with {process.returncode}:\n{log.read_text()}")
    key = _KEY.search(text)
    service.http, service.grpc = match["http"], match["grpc"]
    service.first_key = key[0] if key else ""
    return service
