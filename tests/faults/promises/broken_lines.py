"""Connections break between a gateway and its server, and between a server and PostgreSQL.

They do at every one of the first 50 KiB, or at as many places as are asked for. Clients
never see more of it than answers that say that nothing was changed, or that nobody can tell.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from server.accounts.rules import make_secret

from ...parts import running as part
from ...postgres import running
from ...processes import start
from ...relay import NAME
from ...stubs.lossy import running as carrying
from .checker import NONE, Figures
from .clients import Clients, Target
from .contents import account_in
from .kills import checked
from .lines import Lines, breaks
from .recorder import Recorder
from .restarts import served

AT_MOST = NONE


def to_database(rounds: int) -> Figures:
    """Breaks so many connections to a database, and returns what became of what was told."""
    key = make_secret()
    with tempfile.TemporaryDirectory() as folder, running() as postgres:
        url = postgres.new_database()
        place = conninfo_to_dict(url)
        with carrying(Lines(f"{place['host']}/{NAME}")) as lines:
            through = f"postgresql://{place['user']}@{lines.address}/{place['dbname']}"
            service = served(
                postgres,
                f"{through}?sslmode=disable&gssencmode=disable",
                Path(folder),
                key,
                ROSTER_DATABASE_POOL="4",
            )
            try:
                target = Target(account_in(url), key, service.http, service.grpc)
                return broken_under_load(lines, target, url, rounds)
            finally:
                service.stop()


def to_server(rounds: int) -> Figures:
    """Breaks so many connections of a gateway, and returns what became of what was told."""
    key = make_secret()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        service = start(own, ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
        try:
            account = account_in(service.database_url)
            with (
                carrying(Lines(service.grpc)) as lines,
                part("gateway", own, ROSTER_UPSTREAM=f"ipv4:{lines.address}") as gateway,
            ):
                target = Target(account, key, gateway.http, "")
                return broken_under_load(lines, target, service.database_url, rounds)
        finally:
            service.stop()


def broken_under_load(lines: Lines, target: Target, url: str, rounds: int) -> Figures:
    """Breaks lines under load, and holds the store to what clients were told."""
    recorder, planned = Recorder(), breaks(rounds)
    lines.break_all(planned, Clients(target, recorder, "r").calling())
    figures = checked(url, target, recorder, random.Random())
    return {"lines broken": len(planned)} | Counter(each.way.value for each in planned) | figures
