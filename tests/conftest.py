"""Fixtures: running services, and accounts on them.

Each test process runs two services for its whole session: one on SQLite, whose gateway uses the
in-process channel, and one on PostgreSQL, whose gateway uses the gRPC port. Every test gets a new
account, so that tests do not affect each other.
"""

from __future__ import annotations

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import settings

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.storage.databases import bring_up_to_date
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.actors import Actor, ActorType

from . import fork_server, reaper
from .async_tests import pytest_pyfunc_call  # noqa: F401 - a hook
from .citus import cluster
from .features.webhooks.receiver import Receiver, listening
from .front_selection import FRONTS, pytest_collection_modifyitems  # noqa: F401 - a hook
from .fronts import Front, GrpcFront, HttpFront, Response, close_idle_connections
from .memory import copied
from .memory import folder as memory_folder
from .postgres import Postgres
from .postgres import running as postgres_running
from .processes import Service, start
from .scheduling import FileScheduling

# Garbage collection during the collection of thousands of tests would take a third of the time.
gc.disable()


# Examples of property-based tests: some in make test, more in make verify.
settings.register_profile("default", max_examples=5, deadline=None)
settings.register_profile("thorough", max_examples=300, deadline=None)
settings.load_profile("default")


def pytest_configure() -> None:
    reaper.start()
    fork_server.enable()


def pytest_unconfigure() -> None:
    close_idle_connections()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files of `make verify` in `make test`, whose processes each import every file."""
    if config.option.markexpr != "not verify" or collection_path.suffix != ".py":
        return None
    return "\npytestmark = pytest.mark.verify\n" in collection_path.read_text() or None


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell script ignores SIGINT in background jobs, and child processes inherit that. They
        # do not inherit a handler, even one that does nothing.
        signal.signal(signal.SIGINT, lambda *_: None)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores, because many tests wait for programs that they start."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling:
    return FileScheduling(config, log)


@pytest.fixture(scope="session")
def memory() -> Iterator[Path]:
    """A folder in memory, because commits to a disk slow down tests."""
    with memory_folder() as path:
        yield path


@pytest.fixture(scope="session")
def empty_file(memory: Path) -> Path:
    """An empty database of the current schema to copy, which is faster than migrating."""
    path = memory / "empty" / "roster.db"
    bring_up_to_date(f"sqlite:///{path}")
    return path


@pytest.fixture
def new_file(empty_file: Path) -> Iterator[Path]:
    """An empty database of the current schema."""
    with copied(empty_file) as path:
        yield path


@pytest.fixture(scope="session")
def service(memory: Path) -> Iterator[Service]:
    """A service on SQLite whose gateway calls it in process."""
    folder = memory / "service"
    folder.mkdir()
    running = start(folder)
    yield running
    assert (running.stop(), running.traces()) == (0, [])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server without fsync, which no test interrupts."""
    with postgres_running() as server:
        server.set("fsync", "off")
        yield server


@pytest.fixture(scope="session")
def citus() -> Iterator[cluster.Cluster]:
    """A Citus cluster. Tests that use it carry the marker `verify`."""
    programs = cluster.installation()
    if programs is None:
        pytest.skip(f"{cluster.INSTALLATION} is not set to a PostgreSQL installation with Citus")
    with cluster.running(programs) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def roster_server(request: pytest.FixtureRequest) -> Postgres | cluster.Cluster:
    """A server for tests of behavior: PostgreSQL, or Citus if ROSTER_CITUS is set.

    Its `new_roster` returns distributed databases on Citus.
    """
    server: Postgres | cluster.Cluster = request.getfixturevalue(
        "citus" if cluster.installation() else "postgres"
    )
    return server


@pytest.fixture
def new_rosters(
    roster_server: Postgres | cluster.Cluster,
) -> Iterator[Postgres | cluster.Cluster]:
    """The server for databases of one test."""
    with ExitStack() as stack:
        if isinstance(roster_server, cluster.Cluster):
            stack.enter_context(roster_server.temporary_databases())
        yield roster_server


@pytest.fixture(scope="session")
def service_on_postgres(
    roster_server: Postgres | cluster.Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service on PostgreSQL whose gateway calls it through the gRPC port."""
    running = start(
        tmp_path_factory.mktemp("on-postgres"),
        ROSTER_DATABASE_URL=roster_server.new_roster(),
        ROSTER_SECRET_KEY=roster_server.secret_key,
        ROSTER_HTTP_CHANNEL="grpc",
    )
    yield running
    assert (running.stop(), running.traces()) == (0, [])


@dataclass
class Account:
    """An account on a running service, seen through one front.

    `ok` and `fails` call an rpc with the request as JSON keys, `id` among them.
    """

    id: str
    key: str
    front: Front
    service: Service

    def call(self, rpc: str, /, **request: Any) -> Response:
        return self.front.call(rpc, self.key, request)

    def ok(self, rpc: str, /, **request: Any) -> Any:
        """Calls, expects success, and returns the body."""
        response = self.call(rpc, **request)
        assert response.status < 300, response
        return response.body

    def fails(self, code: str, rpc: str, /, **request: Any) -> Response:
        """Calls, expects this error code, and returns the response."""
        response = self.call(rpc, **request)
        assert response.status >= 400, response
        assert response.code == code, response
        return response

    def new_key(self, scope: str, *, expires_at: int | None = None) -> str:
        """Returns another key of the account; `expires_at` in milliseconds."""
        secret = make_secret()
        with self.service.unit_of_work() as tx:
            store_keys.create_key(
                self.id, "test", scope, hash_secret(secret), tx, expires_at=expires_at
            )
        return secret

    def with_key(self, key: str) -> Account:
        """Returns the same account through another key."""
        return Account(self.id, key, self.front, self.service)


def new_account(service: Service, front: Front, *, verified: bool = True) -> Account:
    """Creates an account in the database of a running service, as the command line does."""
    with service.unit_of_work() as tx:
        return Account(*insert_account(tx, verified=verified), front, service)


def insert_account(tx: Transaction, *, verified: bool = True) -> tuple[str, str]:
    """Stores an account with an API key, and returns the ID and the key."""
    secret = make_secret()
    tx.actor = Actor(ActorType.COMMAND_LINE, name="operator")
    row = store.create_account(f"{uuid4().hex}@example.com", tx, verified=verified)
    store_keys.create_key(row.id, "test", "admin", hash_secret(secret), tx)
    return row.id, secret


# Accounts that no test has used, by database. Opening a database takes longer than an insert, so
# several accounts are created at once.
_unused: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)


def unused_account(service: Service, front: Front) -> Account:
    """Returns a new account on a service that runs for the whole session."""
    unused = _unused[service.database_url]
    if not unused:
        with service.unit_of_work() as tx:
            unused += [insert_account(tx) for _ in range(20)]
    return Account(*unused.pop(), front, service)


@pytest.fixture(scope="module", params=FRONTS)
def front_and_service(request: pytest.FixtureRequest) -> tuple[Front, Service]:
    """A front and its service, for each front. The network channel uses PostgreSQL.

    All tests of a module over one front run consecutively, so that a module can share an account
    that many tests read and none changes.
    """
    over_grpc = request.param == "http-over-grpc"
    service = request.getfixturevalue("service_on_postgres" if over_grpc else "service")
    if request.param == "grpc":
        return request.getfixturevalue("grpc_front"), service
    return HttpFront(request.param, service.http), service


@pytest.fixture(scope="session")
def grpc_front(service: Service) -> Iterator[GrpcFront]:
    front = GrpcFront(service.grpc)
    yield front
    front.channel.close()


@pytest.fixture
def account(front_and_service: tuple[Front, Service]) -> Account:
    """A new account, called over each front."""
    front, service = front_and_service
    return unused_account(service, front)


@pytest.fixture
def other_account(front_and_service: tuple[Front, Service]) -> Account:
    """Another new account, called over the same front."""
    front, service = front_and_service
    return unused_account(service, front)


@pytest.fixture
def unverified_account(front_and_service: tuple[Front, Service]) -> Account:
    """A new account whose email address is not verified."""
    front, service = front_and_service
    return new_account(service, front, verified=False)


@pytest.fixture
def http(service: Service) -> HttpFront:
    """The HTTP front alone, for behavior that only HTTP has."""
    return HttpFront("http", service.http)


@pytest.fixture
def http_account(service: Service, http: HttpFront) -> Account:
    """A new account over HTTP, for behavior that only HTTP has."""
    return unused_account(service, http)


@pytest.fixture
def grpc_account(service: Service, grpc_front: GrpcFront) -> Account:
    """A new account over gRPC, for behavior that only gRPC has."""
    return unused_account(service, grpc_front)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook receiver that the services can reach."""
    with listening() as running:
        yield running
