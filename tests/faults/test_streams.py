"""Imports and exports over HTTP: rejected and interrupted requests, and the stored rows."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ..behavior.helpers import emails
from ..conftest import Account, new_account
from ..fronts import HttpFront
from ..http_gateway.client import Client, ReceivedResponse
from ..http_gateway.serving import run
from ..processes import Service, start

both_http = pytest.mark.parametrize("front_and_service", ["http", "http-over-grpc"], indirect=True)
IMPORT, EXPORT = "/api/subscribers/import", "/api/subscribers/export"
CSV = "text/csv"


@asynccontextmanager
async def connection(account: Account) -> AsyncIterator[Client]:
    assert isinstance(account.front, HttpFront)
    host, _, port = account.front.address.rpartition(":")
    client = Client(*await asyncio.open_connection(host, int(port)))
    try:
        yield client
    finally:
        client.disconnect()


async def post_import(account: Account, *pieces: bytes, content_type: str = "") -> ReceivedResponse:
    """Returns the response to an import whose body is sent in these chunks."""
    async with connection(account) as client:
        await begin(client, account, content_type)
        for piece in pieces:
            await client.send(piece)
        await client.finish()
        return await client.response()


async def begin(client: Client, account: Account, content_type: str = "") -> None:
    headers = {"Content_Type": content_type or "application/x-ndjson"}
    await client.begin("POST", IMPORT, Authorization=f"Bearer {account.key}", **headers)


def row(number: int, **more: Any) -> bytes:
    return json.dumps({"email": f"a{number}@example.com", **more}).encode() + b"\n"


@both_http
@pytest.mark.parametrize("content_type", ["", "text/plain"])
@pytest.mark.parametrize("key", ["", "nonsense", "read"])
def test_unauthorized_import_is_rejected_before_its_body_is_read(
    account: Account, key: str, content_type: str
) -> None:
    caller = account.with_key(account.new_key("read") if key == "read" else key)

    async def main() -> tuple[ReceivedResponse, bool]:
        async with connection(caller) as client:
            await begin(client, caller, content_type)  # and nothing of the body
            got = await client.response()
            await client.finish()
            return got, await client.is_closed()

    got, is_closed = run(main())

    # The content type is checked before the scope, the records after it.
    status = 401 if key != "read" else 415 if content_type else 403
    assert (got.status, got.headers["content-type"]) == (status, "application/json")
    assert (got.headers["connection"], is_closed) == ("close", True)


@both_http
def test_reported_rows_are_kept_when_the_client_disconnects(account: Account) -> None:
    async def main() -> None:
        async with connection(account) as client:
            await begin(client, account)
            await client.send(row(1) + row(2) + b'{"email":"half')
            await client.head()
            assert len((await client.chunk()).splitlines()) == 2

    run(main())

    assert emails(account) == ["a1@example.com", "a2@example.com"]
    assert run(post_import(account, row(2), row(3))).records[0]["reason"] == "ALREADY_EXISTS"


def peak_mib(service: Service, *, reset: bool = False) -> int:
    """Returns the peak memory of a service since the last reset, in MiB."""
    process = Path(f"/proc/{service.process.pid}")
    if reset:
        (process / "clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())
    assert found is not None
    return int(found[1]) // 1024


@pytest.mark.verify
@both_http
@pytest.mark.parametrize("content_type", ["", CSV])
def test_long_body_is_imported_in_constant_memory(account: Account, content_type: str) -> None:
    long = "x" * 1_000_000
    line = row(1, firstName=long) if not content_type else f'a1@b.io,"{long}"\n'.encode()
    before = peak_mib(account.service, reset=True)

    pieces = [b"email,firstName\n", *[line] * 80] if content_type else [line] * 80
    got = run(post_import(account, *pieces, content_type=content_type))

    *results, last = got.records
    assert {result["reason"] for result in results} == {"INVALID_FIELD"}
    assert (len(results), last["summary"]["failed"], got.is_whole) == (80, 80, True)
    assert peak_mib(account.service) - before < 60


@pytest.mark.parametrize("channel", ["in-process", pytest.param("grpc", marks=pytest.mark.verify)])
def test_stopped_service_ends_an_import_and_keeps_reported_rows(
    tmp_path: Path, channel: str
) -> None:
    service = start(tmp_path, ROSTER_HTTP_CHANNEL=channel)
    account = new_account(service, HttpFront("http", service.http))

    async def main() -> tuple[list[Any], bytes]:
        async with connection(account) as client:
            await begin(client, account)
            await client.send(row(1))
            await client.head()
            records = [json.loads(await client.chunk())]
            service.process.send_signal(signal.SIGTERM)
            records.append(json.loads(await client.chunk()))
            return records, await client.chunk()

    (result, last), end = run(main())

    assert (result["outcome"], last["error"]["code"], end) == ("CREATED", "Unavailable", b"")
    assert service.ended() == 0
    assert service.traces() == []
    service = start(tmp_path)
    again = Account(account.id, account.key, HttpFront("http", service.http), service)
    assert emails(again) == ["a1@example.com"]
    assert service.stop() == 0
