"""Tests of `roster worker`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from pathlib import Path

import psycopg
import pytest

from rosterd.server.features.accounts import store as accounts
from rosterd.server.features.tags import store as tags
from rosterd.server.features.webhooks import store as webhooks
from rosterd.server.features.webhooks.endpoints.signing import Secrets, make_secret
from rosterd.server.features.webhooks.store import NewWebhook
from rosterd.server.rpc.idempotency.store import RETENTION_MILLISECONDS, StoredResponseRow, put
from rosterd.server.security.encryption import Encryption, parse_key
from rosterd.server.serving.console import ExitCode
from rosterd.server.serving.secret_key import DataKeys, encrypt_keys
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.installation import save_keys
from rosterd.server.storage.postgres.database import PostgresDatabase

from ..components import Component, launch
from ..features.webhooks.receiver import Receiver
from ..postgres import Postgres
from ..processes import limited
from .commands import error_line, roster

# Runs the command line with continuous maintenance. Deliveries are polled only at startup, so that
# later ones depend on notifications.
WITHOUT_POLLING = """
from rosterd.server.maintenance import tasks
from rosterd.server.features.webhooks.delivery import dispatcher
tasks.PURGE_INTERVAL = 0.02
dispatcher.POLL_SECONDS = 3600
from rosterd.server.cli import main
main()
"""
PATIENCE = 60.0


@pytest.fixture
def url(postgres: Postgres) -> str:
    """A PostgreSQL database with an expired response."""
    url = postgres.new_roster()
    with unit_of_work(url) as tx:
        account_id = accounts.create_account("ada@example.com", tx, verified=True).id
        tx.now -= RETENTION_MILLISECONDS
        put(account_id, "key", StoredResponseRow("fingerprint", b"response"), tx)
    return url


def start(url: str, postgres: Postgres, log: Path) -> Component:
    """Starts a worker and waits until it is ready."""
    settings = {
        "ROSTER_DATABASE_URL": url,
        "ROSTER_SECRET_KEY": postgres.secret_key,
        "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
        "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
        "ROSTER_LOG_LEVEL": "info",
    }
    worker = launch("worker", log, code=WITHOUT_POLLING, **settings)
    assert worker.process.stdout is not None
    with limited(worker.process):
        line = worker.process.stdout.readline()
    assert "The worker processes" in line, log.read_text()
    return worker


def create_webhook(url: str, key: str, receiver: Receiver) -> tuple[str, str]:
    """Creates a webhook. Returns the account ID and the secret."""
    secret, data_key = make_secret(), bytes(range(32))
    secrets = Secrets(Encryption(data_key))
    with unit_of_work(url) as tx:
        save_keys(encrypt_keys(parse_key(key) or b"", DataKeys(data_key)), tx)
        (account_id,) = [row.id for row in accounts.list_accounts(tx)]
        new = NewWebhook(receiver.url, "", ("tag.*",), enabled=True)
        webhooks.create(
            account_id, new, lambda webhook: secrets.encrypt(account_id, webhook, secret), tx
        )
    return account_id, secret


async def create_tags_until(url: str, account_id: str, holds: Callable[[], bool]) -> None:
    """Creates tags, with notifications, until a condition holds."""
    database = PostgresDatabase(url, 4)
    await database.open()
    try:
        database.listen(lambda _: None)
        async with asyncio.timeout(PATIENCE):
            for number in count():
                if holds():
                    return
                name = f"notified {number}"
                await database.write(lambda tx, name=name: tags.create(account_id, name, "", tx))
                await asyncio.sleep(0.05)
    finally:
        await database.close()


def test_workers_purge_expired_data_and_exit_with_0(
    url: str, postgres: Postgres, tmp_path: Path
) -> None:
    workers = [start(url, postgres, tmp_path / name) for name in ("one", "other")]
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            while connection.execute("SELECT * FROM idempotent_response").fetchall():
                assert all(worker.process.poll() is None for worker in workers)
    finally:
        codes = [worker.stop() for worker in workers]

    assert codes == [0, 0]
    log = "".join(worker.log.read_text() for worker in workers)
    assert log.count("purge of stored responses") == log.count('"rows":1') == 1
    assert "Traceback" not in log


def test_worker_delivers_backlog_and_notified_events(
    url: str, postgres: Postgres, receiver: Receiver, tmp_path: Path
) -> None:
    account_id, secret = create_webhook(url, postgres.secret_key, receiver)

    with unit_of_work(url) as tx:
        tags.create(account_id, "found", "", tx)
    worker = start(url, postgres, tmp_path / "log")
    try:
        receiver.wait_for(1)
        asyncio.run(create_tags_until(url, account_id, lambda: len(receiver.received) > 1))
    finally:
        code = worker.stop()

    first, second, *_ = [request.verified(secret) for request in receiver.received]
    assert (first["type"], first["data"]["tag"]["name"]) == ("tag.created", "found")
    assert second["data"]["tag"]["name"].startswith("notified")
    assert (code, "Traceback" in worker.log.read_text()) == (0, False)


def test_worker_rejects_a_sqlite_file(tmp_path: object) -> None:
    done = roster("worker", ROSTER_DATABASE_URL=f"sqlite:///{tmp_path}/roster.db")

    assert "SQLite file" in error_line(done, ExitCode.DATABASE)
