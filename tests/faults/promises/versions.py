"""P13: two versions of the program on one PostgreSQL database, during an upgrade under load.

Only one release reads the minimum version yet. So the newer version is a copy of this checkout
with migrations added, of every kind: they expand the schema, change its rows in chunks, build an
index, and contract it. The contracting one stores what exists at that time.

In every other round the older process is stopped when the newer one serves, and no request fails.
In the others, a process of each version is killed, and so is `roster migrate --contract`, which is
then run again while the older process serves. It stores nothing afterwards, and ends by itself.
"""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
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
from .checker import NO_VIOLATIONS, Results, broken, total
from .clients import Clients, Target, record_all_events
from .kills import checked, target_of
from .recorder import Recorder

LATE, INCOMPLETE = "writes of the older version after its end", "rows incomplete"
FAILED, CODES = "requests failed in a rolling upgrade", "exit codes other than expected"
AT_MOST = NO_VIOLATIONS | dict.fromkeys((LATE, INCOMPLETE, FAILED, CODES), 0)
AT_LEAST: Results = {"acknowledged": 1, "acknowledged by the older version": 1}
# Responses before and after each step of an upgrade.
RESPONSES = 30
# `roster migrate --contract` is killed after at most so many seconds.
SECONDS = 1.0
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
# Lets this checkout, which is the older version, read the database at the end.
_READABLE = "UPDATE schema_version SET minimum_version = 0"


def run(repetitions: int) -> Results:
    """Upgrades so many databases and returns the results."""
    rng, results = random.Random(), Results()
    with tempfile.TemporaryDirectory() as name, running() as postgres:
        newer = _newer_version(Path(name))
        for number in range(repetitions):
            (folder := Path(name, str(number))).mkdir()
            upgrade = Upgrade(postgres, folder, newer, rng)
            results = total(results, upgrade.with_kills() if number % 2 else upgrade.rolling())
            if broken(results, AT_MOST):
                break
    return results


def _newer_version(folder: Path) -> tuple[str, ...]:
    """Copies the program, adds the migrations, and returns how to run it."""
    for name in ("server", "http_gateway", ".packages"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)
    for name, text in MIGRATIONS.items():
        (folder / "server/storage/migrations" / f"{name}.py").write_text(text)
    return ("env", f"PYTHONPATH={folder / '.packages'}")


class Upgrade:
    """The upgrade of a database from the older version to the newer one."""

    def __init__(
        self, postgres: Postgres, folder: Path, newer: tuple[str, ...], rng: random.Random
    ) -> None:
        self._folder, self._newer, self._rng = folder, newer, rng
        self._settings = {
            "ROSTER_DATABASE_URL": postgres.new_roster(),
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
        older = self._start_older()
        target = self._target(older)
        clients = Clients(replace(target, grpc=""), self._recorder, "new")
        addresses = [each["ROSTER_HTTP_ADDRESS"] for each in self._addresses]
        clients.load = Load(addresses, target.key)
        with clients.calling():
            clients.load.wait_for_more(RESPONSES)
            newer = self._start_newer()
            clients.load.wait_for_more(RESPONSES)
            self._results[CODES] += older.stop() != 0
            clients.load.wait_for_more(RESPONSES)
            self._results[CODES] += self._contract() != 0
            clients.load.wait_for_more(RESPONSES)
        self._results[FAILED] += len(clients.load.failed())
        return self._checked(newer, replace(target, http=newer.http, grpc=newer.grpc))

    def with_kills(self) -> Results:
        """Kills processes of both versions, and ends the older one by the migration."""
        older = self._start_older()
        target = self._target(older)
        old_clients = Clients(target, self._recorder, "old")
        with ExitStack() as calling:
            calling.enter_context(old_clients.calling())
            old_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
            newer = self._start_newer()
            new_target = replace(target, http=newer.http, grpc=newer.grpc)
            new_clients = Clients(new_target, self._recorder, "new")
            with new_clients.calling():
                older.stop(signal.SIGKILL)
                older = self._start_older()
                old_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
                newer.stop(signal.SIGKILL)
                newer = self._start_newer()
                self._contract(self._rng.uniform(0, SECONDS))
                new_clients.load.wait_for_more(self._rng.randrange(RESPONSES))
                self._results[CODES] += self._contract() != 0
                self._results[CODES] += older.ended() != ExitCode.OUTDATED
                calling.close()
                new_clients.load.wait_for_more(RESPONSES)
        self._results["acknowledged by the older version"] = len(old_clients.load.acknowledged())
        return self._checked(newer, new_target)

    def _start_older(self) -> Service:
        return self._started(self._addresses[0], "older")

    def _start_newer(self) -> Service:
        return self._started(self._addresses[1], "newer", self._newer)

    def _started(
        self, addresses: Mapping[str, str], name: str, under: tuple[str, ...] = ()
    ) -> Service:
        (folder := self._folder / name).mkdir(exist_ok=True)
        service = start(folder, under=under, **self._settings, **addresses)
        self._services.append(service)
        return service

    def _target(self, service: Service) -> Target:
        target = target_of(service, self._settings["ROSTER_BOOTSTRAP_API_KEY"])
        record_all_events(target)
        return target

    def _contract(self, seconds: float | None = None) -> int:
        """Runs the contracting migration, and kills it after so many seconds; returns its code."""
        names = ("ROSTER_DATABASE_URL", "ROSTER_SECRET_KEY")
        env = environment(**{name: self._settings[name] for name in names})
        log = self._folder / "migrate.log"
        with run_command("migrate", "--contract", log=log, env=env, under=self._newer) as process:
            if seconds is not None:
                time.sleep(seconds)
                process.kill()
            assert process.stdout is not None
            process.stdout.read()
            return process.wait(timeout=60)

    def _checked(self, newer: Service, target: Target) -> Results:
        """Compares the database with the responses, and stops all processes."""
        try:
            with psycopg.connect(self._url, autocommit=True) as connection:
                for name, query in ((LATE, _LATE), (INCOMPLETE, _INCOMPLETE)):
                    ((count,),) = connection.execute(query).fetchall()
                    self._results[name] += count
                connection.execute(_READABLE)
            found = checked(self._url, target, self._recorder, self._rng)
            return self._results | found
        finally:
            newer.stop()
            for service in self._services:
                service.stop(signal.SIGKILL)
