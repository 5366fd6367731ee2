"""P11 when a dry run of rows with several addresses is interrupted by a kill -9."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from ..behavior.import_jobs import settled, upload
from ..conftest import Account
from ..fronts import HttpFront
from ..processes import Service, start

# More for the next attempt, if the dry run ends before the kill.
ATTEMPTS = (10_000, 50_000, 250_000)


@pytest.mark.verify
def test_interrupted_dry_run_counts_each_address_of_a_line_once(tmp_path: Path) -> None:
    service = start(tmp_path)
    try:
        account = _account(service, service.first_key)
        for lines in ATTEMPTS:
            rows = [f"a{n}@b.io c{n}@b.io d{n}@b.io,UNSUBSCRIBED" for n in range(lines)]
            job = upload(account, "\n".join(["email,status", *rows]).encode())
            account.ok("StartImport", id=job["id"], dryRun=True)
            # The first steps have the rows of the first messages, which are repeated as they were.
            while (processed := _processed(account, job)) < lines // 2:
                time.sleep(0.01)
            if processed < 2 * lines:
                break
    finally:
        service.stop(signal.SIGKILL)
    service = start(tmp_path)
    try:
        job = settled(_account(service, account.key), job)
    finally:
        service.stop()

    assert (job["state"], job["summary"]["created"]) == ("READY", 3 * lines)
    assert job["summary"]["reasons"] == []


def _account(service: Service, key: str) -> Account:
    return Account("", key, HttpFront("http", service.http), service)


def _processed(account: Account, job: dict[str, str]) -> int:
    processed: int = account.ok("GetImport", id=job["id"])["import"]["processed"]
    return processed
