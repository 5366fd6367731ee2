"""Starts a Citus cluster for tests: a coordinator and two workers on the loopback interface.

ROSTER_CITUS names the installation: a folder with the `bin` and `lib` of a PostgreSQL server that
has Citus. `python -m tests.citus.cluster` starts a cluster for manual use.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from rosterd.server.security.encryption import make_key
from rosterd.server.storage.databases import bring_up_to_date, distributed

from .. import memory, reaper
from .node import HOST, OWNER, Node

INSTALLATION = "ROSTER_CITUS"
# The role that Roster uses. It is no superuser.
ROLE = "roster"
_numbers = count(1)


class Cluster:
    """A running cluster; its first node is the coordinator, which has no shards."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.coordinator, *self.workers = nodes
        # The encryption key that all services on one database share.
        self.secret_key = make_key()
        self._databases: list[str] = []

    def new_database(self) -> str:
        """Creates an empty database on every node and returns its URL on the coordinator."""
        name = f"roster{next(_numbers)}"
        self._databases.append(name)
        for node in self.nodes:
            node.run(f"CREATE DATABASE {name} OWNER {ROLE}")
            node.run("CREATE EXTENSION citus", name)
            node.run(f"GRANT ALL ON SCHEMA public TO {ROLE}", name)
        self.run(f"SELECT citus_set_coordinator_host('{HOST}', {self.coordinator.port})", name)
        for worker in self.workers:
            self.run(f"SELECT citus_add_node('{HOST}', {worker.port})", name)
        return self.coordinator.url(name, ROLE)

    def new_roster(self) -> str:
        """Creates an empty database of the current schema, distributes it and returns its URL."""
        url = self.new_database()
        bring_up_to_date(url)
        list(distributed(url))
        return url

    @contextmanager
    def temporary_databases(self) -> Iterator[None]:
        """Drops the databases that the block creates. Each has processes on every node."""
        first = len(self._databases)
        yield
        for name in self._databases[first:]:
            for node in self.nodes:
                node.run(f"DROP DATABASE {name} WITH (FORCE)")
        del self._databases[first:]

    def run(self, sql: str, database: str = OWNER) -> list[tuple[Any, ...]]:
        """Runs a statement on the coordinator as superuser and returns its rows."""
        return self.coordinator.run(sql, database)


def installation() -> Path | None:
    """Returns the installation to start clusters from, or None if the tests have none."""
    path = os.environ.get(INSTALLATION)
    return Path(path) if path else None


@contextmanager
def running(programs: Path) -> Iterator[Cluster]:
    """Runs a cluster from an installation for the length of a block."""
    with ExitStack() as stack:
        folder = stack.enter_context(memory.folder())
        if os.geteuid() == 0:
            shutil.chown(folder, OWNER, OWNER)
        nodes = []
        for number in range(3):
            node = Node(programs, folder / str(number))
            stack.callback(node.end)
            node.start()
            node.run(f"CREATE ROLE {ROLE} LOGIN")
            nodes.append(node)
        yield Cluster(nodes)


def main() -> None:
    """Runs a cluster until SIGINT or SIGTERM, and prints the URL of an empty database."""
    programs = installation()
    if programs is None:
        sys.exit(f"Set {INSTALLATION} to a folder with a PostgreSQL server that has Citus.")
    reaper.start()
    with running(programs) as cluster:
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        print(cluster.new_database())
        for node in cluster.workers:
            print("worker:", node.url())
        sys.stdout.flush()
        ended.wait()


if __name__ == "__main__":
    main()
