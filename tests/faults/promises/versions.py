"""P13: two versions of the program on one PostgreSQL database, during an upgrade under load.

The older version is the newest release that this checkout has. The newer one is a copy of this
checkout with migrations added, of every kind: they expand the schema, change its rows in chunks,
build an index, and contract it. The contracting one stores what exists at that time.

`roster migrate` of the newer version expands the schema, and both versions serve. Then one of three
things happens, in turn:

- The older process is stopped, and the schema is contracted. No request fails.
- The older version is started again, and the newer process is stopped. No request fails.
- A process of each version is killed, and so is `roster migrate --contract`, which is then run
  again while the older process serves. It stores nothing afterwards, and ends by itself.
"""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.serving.console import ExitCode

from ...components import free_port
from ...documents import ROOT
from ...load import Load
from ...postgres import Postgres, running
from ...processes import Service, environment, run_command, start
from ...releases import commit_of, extract, versions
from .checker import NO_VIOLATIONS, Results, broken, total
from .clients import Clients, Target, record_all_events
from .kills import checked
from .recorder import Recorder

LATE, INCOMPLETE = "writes of the older version after its end", "rows incomplete"
FAILED, CODES = "requests failed in a rolling upgrade", "exit codes other than expected"
AT_MOST = NO_VIOLATIONS | dict.fromkeys((LATE, INCOMPLETE, FAILED, CODES), 0)
AT_LEAST: Results = {"acknowledged": 1, "acknowledged by the older version": 1}
# Responses before and after each step of an upgrade.
RESPONSES = 30
# `roster migrate --contract` is killed after at most so many seconds.
SECONDS = 1.0
# The folders of a program, with its stubs.
PROGRAM = ("server", "http_gateway", ".packages", "generated/python")
MIGRATIONS = {
    "9000_column": """
TABLE = "subscriber"
NEXT = "SELECT id FROM subscriber WHERE id > %s ORDER BY id LIMIT %s"

def up(migrator, db):
    db.execute_sql("ALTER TABLE subscriber ADD COLUMN trial TEXT")

def backfill(db, position, limit):
    text = f"UPDATE subscriber SET trial = '' WHERE id = ANY (ARRAY({NEXT})) RETURNING id"
    ids = [id_ for (id_,) in db.execute_sql(text, (position, limit // 50)).fetchall()]
    return (max(ids), len(ids)) if ids else None
""",
    "9001_index": """
TABLE = "subscriber"

def indexes(db):
    return {"subscriber_by_trial": "ON subscriber (account_id, trial, id)"}
""",
    "9002_contract_trial": """
def up(migrator, db):
    db.execute_sql("CREATE TABLE before (name TEXT)")
    db.execute_sql("INSERT INTO before SELECT email FROM subscriber")
    db.execute_sql("INSERT INTO before SELECT name FROM api_key")
""",
}
_LATE = (
    "SELECT count(*) FROM (SELECT email AS name FROM subscriber UNION ALL SELECT name FROM api_key)"
    " AS stored WHERE name LIKE 'old%' AND name NOT IN (SELECT name FROM before)"
)
_INCOMPLETE = (
    "SELECT count(*) + (SELECT count(*) FROM schema_backfill) FROM subscriber"
    " WHERE revision < created_at * 1000 OR origin IS NULL"
)
_IS_CONTRACTED = "SELECT to_regclass('before') IS NOT NULL"
# Lets this checkout, which is older than the newer version, read the database at the end.
_READABLE = "UPDATE schema_version SET minimum_version = 0"


def run(repetitions: int) -> Results:
    """Upgrades so many databases and returns the results."""
    rng, results = random.Random(), Results()
    with tempfile.TemporaryDirectory() as name, running() as postgres:
        older, newer = _older_version(Path(name, "older")), _newer_version(Path(name, "newer"))
        for number in range(repetitions):
            (folder := Path(name, str(number))).mkdir()
            upgrade = Upgrade(postgres, folder, older, newer, rng)
            ends = (upgrade.rolling, upgrade.rolled_back, upgrade.with_kills)
            results = total(results, ends[number % len(ends)]())
            if broken(results, AT_MOST):
                break
    return results


def needs() -> str:
    """Returns what is missing to run it, or an empty text."""
    return "" if _release() else "this checkout does not have the commit of a release"


def _release() -> str:
    """Returns the commit of the newest release that the checkout has."""
    return next(filter(None, map(commit_of, versions())), "")


def _older_version(folder: Path) -> tuple[str, ...]:
    """Extracts the release, and returns how to run it."""
    folder.mkdir()
    extract(_release(), folder, *PROGRAM)
    return _under(folder)


def _newer_version(folder: Path) -> tuple[str, ...]:
    """Copies the program, adds the migrations, and returns how to run it."""
    for name in PROGRAM:
        shutil.copytree(ROOT / name, folder / name, symlinks=True)
    for name, text in MIGRATIONS.items():
        (folder / "server/storage/migrations" / f"{name}.py").write_text(text)
    return _under(folder)


def _under(folder: Path) -> tuple[str, ...]:
    """Returns what executes the interpreter with the program in a folder."""
    return ("env", f"PYTHONPATH={folder / '.packages'}:{folder / 'generated/python'}")


class Upgrade:
    """The upgrade of a database from the older version to the newer one."""

    def __init__(
        self,
        postgres: Postgres,
        folder: Path,
        older: tuple[str, ...],
        newer: tuple[str, ...],
        rng: random.Random,
    ) -> None:
        self._folder, self._older, self._newer, self._rng = folder, older, newer, rng
        self._settings = {
            "ROSTER_DATABASE_URL": postgres.new_database(),
            "ROSTER_SECRET_KEY": postgres.secret_key,
            "ROSTER_BOOTSTRAP_API_KEY": make_secret(),
            "ROSTER_LOG_LEVEL": "error",
        }
        self._url = self._settings["ROSTER_DATABASE_URL"]
        self._addresses = [
            {
                "ROSTER_HTTP_ADDRESS": f"127.0.0.1:{free_port()}",
                "ROSTER_GRPC_ADDRESS": f"127.0.0.1:{free_port()}",
            }
            for _ in range(2)
        ]
        self._recorder = Recorder()
        self._services: list[Service] = []
        self._results: Results = dict.fromkeys((*AT_LEAST, *AT_MOST), 0)

    def rolling(self) -> Results:
        """Stops the older process when the newer one serves."""
        with self._both_serving() as (load, older, newer):
            self._results[CODES] += older.stop() != 0
            load.wait_for_more(RESPONSES)
            self._results[CODES] += self._migrate("--contract") != 0
            load.wait_for_more(RESPONSES)
        return self._checked(newer)

    def rolled_back(self) -> Results:
        """Starts the older version again, and stops the newer process."""
        with self._both_serving() as (load, older, newer):
            self._results[CODES] += older.stop() != 0
            older = self._start_older()
            load.wait_for_more(RESPONSES)
            self._results[CODES] += newer.stop() != 0
            load.wait_for_more(RESPONSES)
        return self._checked(older)

    @contextmanager
    def _both_serving(self) -> Iterator[tuple[Load, Service, Service]]:
        """Runs a block while both versions serve. Counts the failed requests."""
        older = self._start_older()
        target = self._target(older)
        first, second = self._clients(target, "first"), self._clients(target, "second")
        with first.calling():
            first.load.wait_for_more(RESPONSES)
            self._results[CODES] += self._migrate() != 0
            first.load.wait_for_more(RESPONSES)
            newer = self._start_newer()
            # Every other one connects to the newer process.
            with second.calling():
                second.load.wait_for_more(RESPONSES)
                yield second.load, older, newer
        self._results[FAILED] += len(first.load.failed() + second.load.failed())

    def _clients(self, target: Target, prefix: str) -> Clients:
        """Returns clients of both processes, over HTTP."""
        clients = Clients(replace(target, grpc=""), self._recorder, prefix)
        addresses = [each["ROSTER_HTTP_ADDRESS"] for each in self._addresses]
        clients.load = Load(addresses, target.key)
        return clients

    def with_kills(self) -> Results:
        """Kills processes of both versions, and ends the older one by the migration."""
        older = self._start_older()
        target = self._target(older)
        old_clients = Clients(target, self._recorder, "old")
        with ExitStack() as calling:
            calling.enter_context(old_clients.calling())
            old_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
            self._results[CODES] += self._migrate() != 0
            newer = self._start_newer()
            new_target = replace(target, http=newer.http, grpc=newer.grpc)
            new_clients = Clients(new_target, self._recorder, "new")
            with new_clients.calling():
                older.stop(signal.SIGKILL)
                older = self._start_older()
                old_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
                newer.stop(signal.SIGKILL)
                newer = self._start_newer()
                self._migrate("--contract", seconds=self._rng.uniform(0, SECONDS))
                new_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
                self._results[CODES] += self._migrate("--contract") != 0
                self._results[CODES] += older.ended() != ExitCode.OUTDATED
                calling.close()
                new_clients.load.wait_for_more(RESPONSES)
        self._results["acknowledged by the older version"] = len(old_clients.load.acknowledged())
        return self._checked(newer)

    def _start_older(self) -> Service:
        return self._started(self._addresses[0], "older", self._older)

    def _start_newer(self) -> Service:
        return self._started(self._addresses[1], "newer", self._newer)

    def _started(self, addresses: Mapping[str, str], name: str, under: tuple[str, ...]) -> Service:
        (folder := self._folder / name).mkdir(exist_ok=True)
        service = start(folder, under=under, **self._settings, **addresses)
        self._services.append(service)
        return service

    def _target(self, service: Service) -> Target:
        key = self._settings["ROSTER_BOOTSTRAP_API_KEY"]
        # This checkout does not read the schema of the older version.
        with psycopg.connect(self._url) as connection:
            ((account,),) = connection.execute("SELECT id FROM account").fetchall()
        target = Target(account, key, service.http, service.grpc)
        if not self._recorder.outcomes:
            record_all_events(target)
        return target

    def _migrate(self, *arguments: str, seconds: float | None = None) -> int:
        """Runs `roster migrate`, and kills it after so many seconds. Returns its exit code."""
        names = ("ROSTER_DATABASE_URL", "ROSTER_SECRET_KEY")
        env = environment(**{name: self._settings[name] for name in names})
        log = self._folder / "migrate.log"
        with run_command("migrate", *arguments, log=log, env=env, under=self._newer) as process:
            if seconds is not None:
                time.sleep(seconds)
                process.kill()
            assert process.stdout is not None
            process.stdout.read()
            return process.wait(timeout=60)

    def _checked(self, running: Service) -> Results:
        """Compares the database with the responses, and stops all processes."""
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                ((is_contracted,),) = connection.execute(_IS_CONTRACTED).fetchall()
                queries = {INCOMPLETE: _INCOMPLETE, **({LATE: _LATE} if is_contracted else {})}
                for name, query in queries.items():
                    ((count,),) = connection.execute(query).fetchall()
                    self._results[name] += count
                connection.execute(_READABLE)
            found = checked(self._url, self._target(running), self._recorder, self._rng)
            return self._results | found
        finally:
            running.stop()
            for service in self._services:
                service.stop(signal.SIGKILL)
