"""P11 on a full disk: uploads and imports report it, and continue when there is space.

The service has its files on a small file system of its own, in a mount namespace.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.cli.transfer import import_upload

from ..cli.transfers import transfer
from ..conftest import Account
from ..fronts import HttpFront
from ..processes import start

SIZE = "256m"
ROWS = 20_000
PART_BYTES = 1 << 20
MOUNT = f'mount -t tmpfs -o size={SIZE} none "$0" && exec "$@"'
TIMEOUT = 60.0


class Disk:
    """The file system of a service."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Writes until not a byte is left."""
        with self._filler.open("ab", buffering=0) as file, suppress(OSError):
            for size in (1 << 20, 1 << 12, 1):
                with suppress(OSError):
                    while file.write(bytes(size)):
                        pass

    def free(self) -> None:
        self._filler.unlink()


@contextmanager
def on_small_disk(folder: Path) -> Iterator[tuple[Account, Disk]]:
    """Runs a service on a small file system, with an account and the file system."""
    mounted = folder / "disk"
    mounted.mkdir()
    namespace = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", MOUNT, str(mounted)]
    if subprocess.run([*namespace, "true"], capture_output=True).returncode:
        pytest.skip("a mount namespace cannot be created here")
    database = f"sqlite:///{mounted}/roster.db"
    service = start(folder, under=namespace, ROSTER_DATABASE_URL=database)
    try:
        front = HttpFront("http", service.http)
        root = Path(f"/proc/{service.process.pid}/root")
        disk = Disk(root / mounted.relative_to("/"))
        yield Account("", service.first_key, front, service), disk
    finally:
        service.stop()


def file(rows: int) -> bytes:
    lines = [f"p{number}@example.com,{'x' * 60}" for number in range(rows)]
    return "\n".join(["email,firstName", *lines]).encode()


def send(account: Account, job: dict[str, Any], content: bytes, offset: int) -> tuple[int, Any]:
    path = f"/api/imports/{job['id']}/content?offset={offset}"
    part = content[offset : offset + PART_BYTES]
    assert isinstance(account.front, HttpFront)
    status, _, body = account.front.exchange("PUT", path, account.key, body=part)
    return status, json.loads(body)


def get(account: Account, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = account.ok("GetImport", id=job["id"])["import"]
    return found


def until(account: Account, job: dict[str, Any], *states: str) -> dict[str, Any]:
    end = time.monotonic() + TIMEOUT
    while (found := get(account, job))["state"] not in states:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


@pytest.mark.verify
def test_import_continues_when_a_full_disk_has_space_again(tmp_path: Path) -> None:
    content = file(ROWS)
    with on_small_disk(tmp_path) as (account, disk):
        job = account.ok("CreateImport", name="p.csv", size=len(content))["import"]
        assert send(account, job, content, 0)[0] == 200

        disk.fill()
        status, body = send(account, job, content, PART_BYTES)
        uploaded = get(account, job)
        disk.free()

        assert (status, body["error"]["code"]) == (507, "InsufficientStorage")
        assert "no space" in body["error"]["message"]
        assert (uploaded["state"], uploaded["received"]) == ("UPLOADING", PART_BYTES)
        for offset in range(PART_BYTES, len(content), PART_BYTES):
            assert send(account, job, content, offset)[0] == 200
        until(account, job, "READY")
        account.ok("StartImport", id=job["id"])
        while not get(account, job)["processed"]:
            time.sleep(0.01)
        disk.fill()
        # Steps that still fit into the free pages of the database are stored.
        before = -1
        while (stopped := get(account, job))["processed"] > before:
            before = stopped["processed"]
            time.sleep(1.0)
        stored = account.ok("ListSubscribers", limit=1)["total"]
        disk.free()
        ended = until(account, job, "SUCCEEDED", "FAILED")

        assert stopped["state"] == "RUNNING"
        assert stopped["processed"] < ROWS
        assert stopped["summary"]["created"] == stopped["processed"] == stored
        assert (ended["state"], ended["summary"]["created"]) == ("SUCCEEDED", ROWS)
        assert account.ok("ListSubscribers", limit=1)["total"] == ROWS
    assert os.listdir(tmp_path / "disk") == []


@pytest.mark.verify
def test_command_continues_when_a_full_disk_has_space_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_upload, "RETRY_TIMEOUT_SECONDS", 0.0)
    source = tmp_path / "p.csv"
    source.write_bytes(file(ROWS))
    with on_small_disk(tmp_path) as (account, disk):
        disk.fill()
        first = transfer(account, "import", str(source))
        disk.free()
        second = transfer(account, "import", str(source))

        assert first.returncode == 8, first.stderr
        assert second.returncode == 0, second.stderr
        assert account.ok("ListSubscribers", limit=1)["total"] == ROWS
