"""Connects to PostgreSQL and checks its settings.

A database that does not use UTF-8, or that acknowledges commits before they are durable, is
rejected. Text columns have the collation "C", so that texts compare byte by byte as in SQLite.

Advisory locks belong to one node: account locks, the schema lock and the service lock. In a
Citus cluster, all processes therefore connect to the coordinator.

Every connection holds the service lock in shared mode until it is closed. The distribution of
a database takes it in exclusive mode, so that no service runs at the same time.

Each connection needs its own server session, because locks, prepared statements and LISTEN belong
to sessions. A pooler that shares sessions between connections is therefore rejected.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from peewee import Model, PeeweeException
from playhouse.postgres_ext import Psycopg3Database
from psycopg.conninfo import conninfo_to_dict

from ...values.clock import Clock, system_clock
from ...values.ids import Ids
from ..database import StorageError
from ..transaction import Transaction
from .transaction import (
    OutcomeUnknown,
    WriteTransaction,
    begin_reading,
    driver_error,
    reading,
    undo,
)

log = logging.getLogger(__name__)

OLDEST_VERSION = 14
CONNECT_SECONDS = 3
# statement_timeout, which includes waits for locks, and lock_timeout.
STATEMENT_SECONDS = 15
LOCK_SECONDS = 5
# How long PostgreSQL may take to end the session of a connection that was closed.
CLOSING_SECONDS = 2.0
# On a Citus cluster, each node needs these too, because it plans the statements for its shards.
PLANNER_SETTINGS = {
    # Every statement has a suitable index.
    "enable_seqscan": "off",
    # Compilation takes up to 0.4 s for a statement that counts the matches of a filter.
    "jit": "off",
    # Parallel workers take longer to count the matches of a filter than one process does
    # (`python -m tests.bench.scale_filters`), and take the processors of other accounts.
    "max_parallel_workers_per_gather": "0",
}
# A connection's plans are discarded before its use number 2, 4, 8, ...; see `renew_plans`.
_USES_BEFORE_NEW_PLANS = frozenset(1 << power for power in range(1, 16))
# Maximum per connection. The code has fewer, so that none is evicted.
MAX_PREPARED_STATEMENTS = 500

# The key of an advisory lock: arbitrary, but the same in all versions.
_SERVICE_LOCK = 7_316_440_825_093_628_117
# Also takes the service lock.
_CHECK = f"""
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
    current_setting('synchronous_commit'), pg_is_in_recovery(),
    to_regclass('pg_dist_local_group') IS NOT NULL, pg_try_advisory_lock_shared({_SERVICE_LOCK})
"""
_SESSION = "SELECT pg_backend_pid()"
_CONNECT_DIRECTLY = (
    "Connect to PostgreSQL itself: each process pools its connections (ROSTER_DATABASE_POOL)."
)
# The Citus group of this node; 0 is the coordinator.
_GROUP = "SELECT groupid FROM pg_dist_local_group"


def connect(url: str) -> Psycopg3Database:
    """Returns a Peewee database. Each thread that uses it gets its own connection."""
    return _PostgresConnections(url)


class _PostgresConnections(Psycopg3Database):  # type: ignore[misc]
    field_types = Psycopg3Database.field_types | {"TEXT": 'TEXT COLLATE "C"'}

    def __init__(self, url: str) -> None:
        super().__init__("roster")
        self._url = url
        # Whether the database has the Citus extension; set when a connection is opened.
        self.has_citus = False
        self._uses = threading.local()

    def renew_plans(self) -> None:
        """Counts a use of the thread's connection. Discards its plans before use 2, 4, 8, ...

        A plan from a time when the tables were small can use an index that reads all subscribers
        of the account, also in checks of foreign keys. PostgreSQL replaces it only after the next
        automatic ANALYZE, up to a minute later.
        """
        self._uses.count += 1
        if self._uses.count in _USES_BEFORE_NEW_PLANS:
            # The next statement reports a lost connection.
            with suppress(psycopg.Error):
                self.connection().execute("DISCARD PLANS", prepare=False)

    def create_tables(self, models: Sequence[type[Model]], **options: Any) -> None:
        """Creates tables in the given order; referenced tables come first."""
        for model in models:
            # Only SQLite has WITHOUT ROWID.
            on_sqlite, model._meta.without_rowid = model._meta.without_rowid, False
            try:
                super().create_tables([model], **options)
            finally:
                model._meta.without_rowid = on_sqlite

    def _connect(self) -> psycopg.Connection[Any]:
        self._uses.count = 0
        connection = psycopg.connect(**parameters(self._url), autocommit=True, prepare_threshold=0)
        try:
            connection.prepared_max = MAX_PREPARED_STATEMENTS
            _check_session(connection, self._url)
            self.has_citus = _check(connection)
            if self.has_citus:
                # Citus needs the values to find the shard.
                connection.execute("SET plan_cache_mode = force_custom_plan", prepare=False)
        except BaseException:
            connection.close()
            raise
        return connection


def parameters(url: str) -> dict[str, Any]:
    """Returns the connection parameters: Roster's defaults, overridden by the URL."""
    url_parameters = conninfo_to_dict(url)
    options = (
        f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s"
        f" -c idle_in_transaction_session_timeout={STATEMENT_SECONDS}s"
        # Prepared statements have one plan for all values, even while the tables are small.
        " -c plan_cache_mode=force_generic_plan"
        # For connections between the nodes of a Citus cluster. Has no effect without Citus.
        f" -c citus.node_connection_timeout={CONNECT_SECONDS}s"
        f"{''.join(f' -c {name}={value}' for name, value in PLANNER_SETTINGS.items())}"
    )
    return {
        "application_name": "roster",
        "connect_timeout": CONNECT_SECONDS,
        # Detects a lost server within half a minute.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        **url_parameters,
        "client_encoding": "UTF8",
        "options": f"{options} {url_parameters.get('options', '')}".rstrip(),
    }


def _check_session(connection: psycopg.Connection[Any], url: str) -> None:
    """Raises StorageError if a pooler shares the session with other connections.

    Through a pooler, the process ID of the session differs from the one sent at the start.
    """
    session = _session(connection)
    if session == connection.info.backend_pid:
        return
    # A pooler in transaction mode gives the second connection the same session, or the first one
    # a different session.
    with psycopg.connect(**parameters(url), autocommit=True) as other:
        is_shared = _session(other) == session
    if is_shared or _session(connection) != session:
        raise StorageError(
            "The database URL points to a pooler in transaction mode, such as PgBouncer, which does"
            f" not support session locks, prepared statements and LISTEN. {_CONNECT_DIRECTLY}"
        )


def _session(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(_SESSION, prepare=False).fetchone()
    assert row is not None
    return int(row[0])


def _check(connection: psycopg.Connection[Any]) -> bool:
    """Returns whether the database has Citus. Raises StorageError if it cannot be used safely."""
    row = connection.execute(_CHECK, prepare=False).fetchone()
    assert row is not None
    version, encoding, synchronous_commit, is_standby, has_citus, has_service_lock = row
    if version < OLDEST_VERSION:
        raise StorageError(
            f"The database is PostgreSQL {version}. Use version {OLDEST_VERSION} or later."
        )
    if encoding != "UTF8":
        raise StorageError(
            f"The database has the encoding {encoding}. Create one with ENCODING 'UTF8'."
        )
    if synchronous_commit == "off":
        raise StorageError(
            "The database has synchronous_commit = off, so acknowledged commits can be lost."
            " Set it to on, for example: ALTER DATABASE ... SET synchronous_commit = on."
        )
    if is_standby:
        raise StorageError("The database is a read-only standby. Use the URL of the primary.")
    if not has_service_lock:
        raise StorageError(
            "The database is being distributed over a Citus cluster. Start again when `roster"
            " migrate --distribute` has finished."
        )
    if has_citus and connection.execute(_GROUP, prepare=False).fetchone() != (0,):
        raise StorageError(
            "The database is on a worker node of a Citus cluster. Use the URL of the coordinator,"
            " which holds the locks of all processes."
        )
    return bool(has_citus)


def unusable(error: BaseException) -> StorageError:
    """Returns the error for a database that cannot be used, in one line."""
    cause = driver_error(error) or error
    text = " ".join(str(cause).split())
    # PgBouncer rejects the session settings in `parameters`.
    remedy = f". {_CONNECT_DIRECTLY}" if "unsupported startup parameter" in text else ""
    return StorageError(f"The database cannot be used: {text}{remedy}")


@contextmanager
def open_database(url: str) -> Iterator[Psycopg3Database]:
    """Opens a connection for a block. Raises StorageError if the database cannot be used."""
    database = connect(url)
    try:
        database.connect()
        yield database
    except (psycopg.Error, PeeweeException) as error:
        raise unusable(error) from error
    finally:
        database.close()


def remove_time_limits(database: Psycopg3Database) -> None:
    """Lets a connection of the command line run transactions of any length.

    On a Citus cluster, it then has one connection to each node, because two connections would read
    different snapshots.
    """
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        database.execute_sql(f"SET {name} = 0")
    if database.has_citus:
        database.execute_sql("SET citus.max_adaptive_executor_pool_size = 1")


def warn_if_unsafe(database: Psycopg3Database) -> None:
    """Logs a warning if a crash of the server's machine can damage the database."""
    if database.execute_sql("SHOW fsync").fetchone() == ("off",):
        log.warning("the database has fsync = off: a crash of its machine can damage it")


@contextmanager
def without_services(database: Psycopg3Database) -> Iterator[None]:
    """Excludes other connections during a block. Raises StorageError if there are any."""
    connection = database.connection()
    _exclude(connection)
    try:
        yield
    finally:
        if not connection.closed:
            # The session still holds the lock in shared mode.
            connection.execute(f"SELECT pg_advisory_unlock({_SERVICE_LOCK})")


def _exclude(connection: psycopg.Connection[Any]) -> None:
    lock = f"SELECT pg_try_advisory_lock({_SERVICE_LOCK})"
    ends = time.monotonic() + CLOSING_SECONDS
    while connection.execute(lock).fetchone() != (True,):
        if time.monotonic() > ends:
            raise StorageError(
                "The database is in use. Stop all services and commands that use it, then run the"
                " command again."
            )
        time.sleep(0.1)


@contextmanager
def transaction(
    database: Psycopg3Database, clock: Clock = system_clock, *, read_only: bool = False
) -> Iterator[Transaction]:
    """Runs a block as one transaction, for the command line. Raises StorageError."""
    ids = Ids(clock)
    try:
        if read_only:
            begin_reading(database)
            yield reading(database, clock, ids)
        else:
            tx = WriteTransaction(database, clock, ids)
            yield tx
            tx.commit()
    except OutcomeUnknown as error:
        raise StorageError(f"The outcome of the commit is unknown: {error}") from error
    except (psycopg.Error, PeeweeException) as error:
        raise unusable(error) from error
    finally:
        undo(database)
