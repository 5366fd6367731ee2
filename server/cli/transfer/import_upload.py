"""Uploads the file of an import as a job in parts, and repeats requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from ...serving.console import CommandError, ExitCode
from ..common.progress import ByteProgress
from ..common.service_client import ServiceClient
from .import_source import Source

PART_BYTES = 1 << 20
# Seconds for which a request is repeated while the service cannot be reached.
RETRY_TIMEOUT_SECONDS = 30.0
_RETRY_SECONDS = 0.5
TRANSIENT = (ExitCode.INCOMPLETE, ExitCode.UNREACHABLE)
# Errors of a request that an earlier one, or another run of the same command, has preceded.
PRECEDED = ("UploadOffsetMismatch", "ImportStateConflict")

Job = dict[str, Any]
Returned = TypeVar("Returned")


async def upload(
    client: ServiceClient, import_id: str, file: str, received: int, size: int
) -> None:
    """Sends the bytes of a file after those that the service has received."""
    offset = received
    with ByteProgress() as progress:
        async for part in _parts(file, offset):
            end = offset + len(part)
            while received < end:
                progress.show("Uploading", received, size)
                now_received = await _sent(client, import_id, part[received - offset :], received)
                if now_received is None:
                    return
                received = now_received
            offset = end


async def _sent(client: ServiceClient, import_id: str, part: bytes, offset: int) -> int | None:
    """Sends a part. Returns the received bytes; None if the import is not uploaded anymore."""
    path = f"/api/imports/{import_id}/content"
    try:
        # A part that arrived can be sent again.
        await with_retries(partial(client.put, path, part, offset=str(offset)))
    except CommandError as error:
        if code_of(error) not in PRECEDED:
            raise
        job = await with_retries(partial(import_of, client, import_id))
        if job["state"] != "UPLOADING":
            return None
        if int(job["received"]) <= offset:
            raise
        return int(job["received"])
    return offset + len(part)


async def _parts(file: str, offset: int) -> AsyncIterator[bytes]:
    """Yields the content after some bytes in parts."""
    waiting = bytearray()
    with closing(Source(file)) as source:
        await source.detect_format()
        async for chunk in source.chunks():
            skipped = min(offset, len(chunk))
            offset -= skipped
            waiting += chunk[skipped:]
            while len(waiting) >= PART_BYTES:
                yield bytes(waiting[:PART_BYTES])
                del waiting[:PART_BYTES]
    if waiting:
        yield bytes(waiting)


async def import_of(client: ServiceClient, import_id: str) -> Job:
    job: Job = (await client.get(f"/api/imports/{quote(import_id, safe='')}"))["import"]
    return job


def code_of(error: CommandError) -> str:
    """Returns the code of the error of the service; empty if it is not one."""
    return str((error.response or {}).get("code", ""))


async def with_retries(call: Callable[[], Awaitable[Returned]]) -> Returned:
    """Returns the result of a request, which is repeated while the service cannot be reached."""
    until = time.monotonic() + RETRY_TIMEOUT_SECONDS
    while True:
        try:
            return await call()
        except CommandError as error:
            if error.exit_code not in TRANSIENT or time.monotonic() > until:
                raise
        await asyncio.sleep(_RETRY_SECONDS)
