"""Connection poolers in front of PostgreSQL."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from rosterd.server.serving.console import ExitCode

from ..cli.commands import FREE, error_line, roster
from ..components import free_port, wait_until
from ..postgres import Postgres
from ..tools import program

pytestmark = pytest.mark.verify

IGNORE = "ignore_startup_parameters = options"


@contextmanager
def pooler(postgres: Postgres, *settings: str) -> Iterator[str]:
    """Runs PgBouncer and yields the URL of an empty database behind it."""
    server, port = conninfo_to_dict(postgres.new_roster()), free_port()
    target = [f"{name}={text}" for name, text in server.items() if name != "password"]
    lines = [
        "[databases]",
        f"roster = {' '.join(target)}",
        "[pgbouncer]",
        "listen_addr = 127.0.0.1",
        f"listen_port = {port}",
        "unix_socket_dir =",
        "auth_type = any",
        *settings,
    ]
    # The user of the server, because PgBouncer does not run as root.
    user = os.stat(str(server["host"])).st_uid
    with TemporaryDirectory() as folder:
        file = Path(folder, "pgbouncer.ini")
        file.write_text("\n".join(lines))
        for path in (folder, file):
            os.chown(path, user, -1)
        process = subprocess.Popen(
            [program("pgbouncer", "pgbouncer"), "-q", file],
            user=user if user != os.getuid() else None,
            stderr=subprocess.DEVNULL,
        )
        url = f"postgresql://roster@127.0.0.1:{port}/roster"

        def accepts() -> bool:
            try:
                psycopg.connect(url).close()
            except psycopg.OperationalError:
                return False
            return True

        try:
            wait_until(accepts, "PgBouncer does not accept connections")
            yield url
        finally:
            process.terminate()
            process.wait(timeout=60)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (("pool_mode = transaction", IGNORE), "transaction mode"),
        (("pool_mode = transaction", IGNORE, "server_round_robin = 1"), "transaction mode"),
        (("pool_mode = statement", IGNORE), "transaction mode"),
        (("pool_mode = session",), "unsupported startup parameter"),
    ],
    ids=["transaction", "round robin", "statement", "rejects settings"],
)
def test_pooler_that_keeps_no_sessions_is_rejected_with_a_remedy(
    postgres: Postgres, settings: tuple[str, ...], reason: str
) -> None:
    with pooler(postgres, *settings) as url:
        service = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": postgres.secret_key, **FREE}
        for _ in range(3):
            line = error_line(roster("serve", **service), ExitCode.DATABASE)
            assert reason in line
            assert "Connect to PostgreSQL itself" in line
