"""Connections break between a gateway and its server, and between a server and PostgreSQL.

They do at every one of the first 50 KiB, or at as many places as are asked for. Clients
never see more of it than answers that say that nothing was changed, or that nobody can tell.

Many places are divided into stretches, each with a service and a store of its own. Several
are tried at a time, since services and lines wait much of it. What clients send is long, so
that lines soon carry as much as they are to.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from server.accounts.rules import make_secret

from ...parts import running as part
from ...postgres import running
from ...processes import start
from ...relay import NAME
from ...stubs.lossy import running as carrying
from .checker import NONE, Figures, broken, total
from .clients import Clients, Target, make_long_fields
from .contents import account_in
from .kills import checked
from .lines import Break, Lines, breaks
from .recorder import Recorder
from .restarts import served

AT_MOST = NONE
# How many places are a stretch, and how many stretches are tried at a time.
STRETCH, AT_A_TIME = 1024, 6
# How many long texts each subscriber has.
LONG_TEXTS = 4


def to_database(rounds: int) -> Figures:
    """Breaks so many connections to a database, and returns what became of what was told."""
    return in_stretches(breaks(rounds), stretch_to_database)


def to_server(rounds: int) -> Figures:
    """Breaks so many connections of a gateway, and returns what became of what was told."""
    return in_stretches(breaks(rounds), stretch_to_server)


def in_stretches(planned: list[Break], tried: Callable[[list[Break]], Figures]) -> Figures:
    """Tries all stretches until one breaks a promise; returns what came of all of them."""
    parts = [planned[first : first + STRETCH] for first in range(0, len(planned), STRETCH)]
    sums: Figures = {}
    # Begun anew and not forked, since gRPC may run by now.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(AT_A_TIME, len(parts)), context) as pool:
        for figures in pool.map(tried, parts):
            sums = total(sums, figures)
            if broken(sums, AT_MOST):
                pool.shutdown(cancel_futures=True)
                break
    return sums


def stretch_to_database(planned: list[Break]) -> Figures:
    """Breaks connections to a database of its own in all these ways."""
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
                return broken_under_load(lines, target, url, planned)
            finally:
                service.stop()


def stretch_to_server(planned: list[Break]) -> Figures:
    """Breaks connections of a gateway of its own in all these ways."""
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
                return broken_under_load(lines, target, service.database_url, planned)
        finally:
            service.stop()


def broken_under_load(lines: Lines, target: Target, url: str, planned: list[Break]) -> Figures:
    """Breaks lines under load, and holds the store to what clients were told."""
    recorder = Recorder()
    make_long_fields(target, LONG_TEXTS)
    clients = Clients(target, recorder, "r", long_texts=LONG_TEXTS)
    lines.break_all(planned, clients.calling())
    figures = checked(url, target, recorder, random.Random())
    return {"lines broken": len(planned)} | Counter(each.way.value for each in planned) | figures
