"""P11 when a custom field of a running import is deleted before a kill -9."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from ..behavior.helpers import create_field
from ..behavior.import_jobs import CREATE, settled, upload
from ..conftest import Account
from ..fronts import HttpFront
from ..processes import Service, start

# More for the next attempt, if the import ends before the field is deleted.
ATTEMPTS = (20_000, 100_000, 500_000)


@pytest.mark.verify
@pytest.mark.parametrize("options", [{}, CREATE], ids=["own", "created"])
def test_rows_after_the_deletion_fail_although_the_import_was_interrupted(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    service = start(tmp_path)
    try:
        account = _account(service, service.first_key)
        for rows in ATTEMPTS:
            job = _start_import(account, rows, options)
            while not _processed(account, job):
                time.sleep(0.01)
            field = account.ok("ListCustomFields")["customFields"][0]["id"]
            account.ok("DeleteCustomField", id=field)
            stored = _processed(account, job)
            if stored < rows:
                break
    finally:
        service.stop(signal.SIGKILL)
    service = start(tmp_path)
    try:
        job = settled(_account(service, account.key), job)
    finally:
        service.stop()

    assert (job["state"], job["processed"]) == ("SUCCEEDED", rows)
    [reason] = job["summary"]["reasons"]
    assert reason["reason"] == "UNKNOWN_CUSTOM_FIELD"
    assert job["summary"]["created"] + reason["total"] == rows


def _start_import(account: Account, rows: int, options: dict[str, Any]) -> dict[str, Any]:
    if not options:
        create_field(account, "Plan")
    lines = [f"p{rows}-{number}@example.com,pro" for number in range(rows)]
    job = upload(account, "\n".join(["email,Plan", *lines]).encode(), options={**options})
    account.ok("StartImport", id=job["id"])
    return job


def _account(service: Service, key: str) -> Account:
    return Account("", key, HttpFront("http", service.http), service)


def _processed(account: Account, job: dict[str, Any]) -> int:
    processed: int = account.ok("GetImport", id=job["id"])["import"]["processed"]
    return processed
