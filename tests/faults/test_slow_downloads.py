"""Clients that read the files of exports slowly do not occupy the memory of the service."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from ..behavior.helpers import create_field
from ..conftest import Account, new_account
from ..fronts import HttpFront
from .test_streams import both_http, peak_mib

READERS, ACCOUNTS = 500, 16
MAX_MIB = 64
# The bytes of a file, so that the buffers of the kernel contain a part of it only.
SIZE = 3 * 1024 * 1024


def create_export(account: Account) -> str:
    """Returns the ID of an export with a file of SIZE bytes."""
    values = {}
    for number in range(8):
        create_field(account, f"Text {number}")
        values[f"text_{number}"] = "x" * 1000
    for first in range(0, SIZE // 8_000, 100):
        people = [
            {"email": f"p{number}@b.io", "customFields": values}
            for number in range(first, first + 100)
        ]
        assert account.ok("BulkCreateSubscribers", subscribers=people)["failed"] == []
    export = account.ok("CreateExport", format="NDJSON")["export"]
    while not export["done"]:
        time.sleep(0.02)
        export = account.ok("GetExport", id=export["id"])["export"]
    assert export["size"] > SIZE
    return str(export["id"])


@contextmanager
def slow_reader(account: Account, export_id: str) -> Iterator[socket.socket]:
    """Requests a file, with a small buffer."""
    assert isinstance(account.front, HttpFront)
    host, _, port = account.front.address.rpartition(":")
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(20)
        reader.connect((host, int(port)))
        head = f"GET /api/exports/{export_id}/file HTTP/1.1\r\nHost: x\r\n"
        reader.sendall(f"{head}Authorization: Bearer {account.key}\r\n\r\n".encode())
        yield reader


@pytest.mark.verify
@both_http
def test_500_slow_readers_occupy_little_memory(account: Account) -> None:
    accounts = [new_account(account.service, account.front) for _ in range(ACCOUNTS)]
    exports = [create_export(each) for each in accounts]
    before, statuses = peak_mib(account.service, reset=True), list[bytes]()
    for _ in range(2):
        with ExitStack() as stack:
            readers = [
                stack.enter_context(slow_reader(accounts[n % ACCOUNTS], exports[n % ACCOUNTS]))
                for n in range(READERS)
            ]
            statuses += [reader.recv(12)[-3:] for reader in readers]

    # Of the others, a process has the maximum of streams.
    assert statuses.count(b"200") >= 2 * 250
    assert set(statuses) <= {b"200", b"503"}
    assert peak_mib(account.service) - before < MAX_MIB
    assert account.service.traces() == []
