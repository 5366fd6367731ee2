"""Connections break between a gateway and its server, and between a server and PostgreSQL.

They break at every byte of the first 50 KiB, or at a sample of these positions. Clients receive
only responses that state that nothing was changed or that the outcome is unknown.

Positions are divided into batches, each with its own service and database. Several batches run
at a time, because services and connections mostly wait. Requests are large, so that
connections soon carry enough bytes.
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

from rosterd.server.features.accounts.rules import make_secret

from ...components import running as running_component
from ...postgres import running
from ...processes import start
from ...relay import NAME
from ...stubs.lossy_proxy import running as running_proxy
from .breaking_proxy import Break, BreakingProxy, breaks
from .checker import NO_VIOLATIONS, Results, broken, total
from .clients import Clients, Target, make_long_fields
from .contents import account_in
from .kills import checked
from .recorder import Recorder
from .restarts import start_on_postgres

AT_MOST = NO_VIOLATIONS
# Positions per batch, and batches that run at a time.
BATCH, CONCURRENT_BATCHES = 1024, 6
# Long texts per subscriber.
LONG_TEXTS = 4


def to_database(repetitions: int) -> Results:
    """Breaks connections between a server and PostgreSQL."""
    return in_batches(breaks(repetitions), batch_to_database)


def to_server(repetitions: int) -> Results:
    """Breaks connections between a gateway and a server."""
    return in_batches(breaks(repetitions), batch_to_server)


def in_batches(planned: list[Break], run_batch: Callable[[list[Break]], Results]) -> Results:
    """Runs all batches until one breaks a promise. Returns the sums of their results."""
    batches = [planned[first : first + BATCH] for first in range(0, len(planned), BATCH)]
    sums: Results = {}
    # Spawned and not forked, because gRPC may run already.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(CONCURRENT_BATCHES, len(batches)), context) as pool:
        for results in pool.map(run_batch, batches):
            sums = total(sums, results)
            if broken(sums, AT_MOST):
                pool.shutdown(cancel_futures=True)
                break
    return sums


def batch_to_database(planned: list[Break]) -> Results:
    """Applies the planned breaks to connections of a service to a new database."""
    key = make_secret()
    with tempfile.TemporaryDirectory() as folder, running() as postgres:
        url = postgres.new_database()
        conninfo = conninfo_to_dict(url)
        with running_proxy(BreakingProxy(f"{conninfo['host']}/{NAME}")) as proxy:
            through = f"postgresql://{conninfo['user']}@{proxy.address}/{conninfo['dbname']}"
            service = start_on_postgres(
                postgres,
                f"{through}?sslmode=disable&gssencmode=disable",
                Path(folder),
                key,
                ROSTER_DATABASE_POOL="4",
            )
            try:
                target = Target(account_in(url), key, service.http, service.grpc)
                return break_under_load(proxy, target, url, planned)
            finally:
                service.stop()


def batch_to_server(planned: list[Break]) -> Results:
    """Applies the planned breaks to connections of a new gateway."""
    key = make_secret()
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder)
        service = start(own, ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
        try:
            account = account_in(service.database_url)
            with (
                running_proxy(BreakingProxy(service.grpc)) as proxy,
                running_component(
                    "serve-http", own, ROSTER_UPSTREAM=f"ipv4:{proxy.address}"
                ) as gateway,
            ):
                target = Target(account, key, gateway.http, "")
                return break_under_load(proxy, target, service.database_url, planned)
        finally:
            service.stop()


def break_under_load(
    proxy: BreakingProxy, target: Target, url: str, planned: list[Break]
) -> Results:
    """Breaks connections under load, and compares the database with the responses."""
    recorder = Recorder()
    make_long_fields(target, LONG_TEXTS)
    clients = Clients(target, recorder, "r", long_texts=LONG_TEXTS)
    proxy.break_all(planned, clients.calling())
    results = checked(url, target, recorder, random.Random())
    return (
        {"connections broken": len(planned)}
        | Counter(item.kind.value for item in planned)
        | results
    )
