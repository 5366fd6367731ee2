"""A client of the streams, with uploads and downloads in constant memory.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.bench.streams import HOST:PORT KEY ROWS FIRST
    python -m tests.bench.streams import-csv HOST:PORT KEY ROWS FIRST
    python -m tests.bench.streams import-file HOST:PORT KEY ROWS FIRST
    python -m tests.bench.streams export HOST:PORT KEY
    python -m tests.bench.streams export-links HOST:PORT KEY
    python -m tests.bench.streams export-file HOST:PORT KEY

Prints one JSON object: the number of lines in the response, the seconds, and the number of lines
that report a failure. The seconds of a file are those from the request to its end: without the
download of an export, and without the upload and the check of an import.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from typing import Any, cast

import aiohttp
import uvloop

LINES_PER_CHUNK = 500
PART_BYTES = 1024 * 1024


def rows(count: int, first: int) -> list[bytes]:
    """Returns subscribers with unique addresses as NDJSON, in chunks of some hundred lines."""
    lines = [
        b'{"email":"imported%d@example.com","firstName":"Ada","lastName":"Lovelace",'
        b'"isConfirmed":true,"tags":["newsletter"]}\n' % number
        for number in range(first, first + count)
    ]
    return [
        b"".join(lines[start : start + LINES_PER_CHUNK])
        for start in range(0, count, LINES_PER_CHUNK)
    ]


def csv_rows(count: int, first: int) -> list[bytes]:
    """Returns subscribers as an export of Kit, with statuses, times and tags."""
    lines = [b"Email Address,First Name,Last Name,Status,Created At,Tags\n"]
    for number in range(first, first + count):
        status = b"cancelled" if number % 7 == 0 else b"active"
        time_of_day = b"%02d:%02d:%02d" % (number // 3600 % 24, number // 60 % 60, number % 60)
        lines.append(
            b'csv%d@example.com,Ada,Lovelace,%b,2024-01-31 %b,"newsletter"\n'
            % (number, status, time_of_day)
        )
    return [
        b"".join(lines[start : start + LINES_PER_CHUNK])
        for start in range(0, len(lines), LINES_PER_CHUNK)
    ]


# The query, the media type and the rows of each import.
IMPORTS = {
    "import": ("", "application/x-ndjson", rows),
    "import-csv": ("?preset=kit", "text/csv", csv_rows),
}


async def send(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for piece in chunks:
        yield piece


async def lines_of(response: aiohttp.ClientResponse) -> tuple[int, int]:
    """Returns the number of lines in a response, and of lines that report a failure."""
    lines = failures = 0
    async for chunk in response.content.iter_any():
        lines += chunk.count(b"\n")
        failures += chunk.count(b'"FAILED"') + chunk.count(b'{"error"')
    return lines, failures


async def import_file(
    session: aiohttp.ClientSession, address: str, chunks: list[bytes]
) -> dict[str, float]:
    """Uploads a file and imports it as a job."""
    content, url = b"".join(chunks), f"http://{address}/api/imports"
    upload = {"name": "rows.ndjson", "size": len(content)}
    async with session.post(url, json=upload) as response:
        response.raise_for_status()
        url += f"/{(await response.json())['import']['id']}"
    for start in range(0, len(content), PART_BYTES):
        part = content[start : start + PART_BYTES]
        headers = {"Content-Type": "application/octet-stream"}
        target = f"{url}/content?offset={start}"
        async with session.put(target, data=part, headers=headers) as response:
            response.raise_for_status()
    await until(session, url, "import", "READY")
    started = time.perf_counter()
    async with session.post(f"{url}/start", json={}) as response:
        response.raise_for_status()
    ended = await until(session, url, "import", "SUCCEEDED", "FAILED")
    seconds = time.perf_counter() - started
    failures = int(ended["summary"]["failed"]) + (ended["state"] == "FAILED")
    return {"lines": int(ended["processed"]), "failures": failures, "seconds": seconds}


async def until(
    session: aiohttp.ClientSession, url: str, name: str, *states: str
) -> dict[str, Any]:
    """Watches an export or an import until it has one of some states."""
    async with session.get(f"{url}/watch") as changes:
        async for line in changes.content:
            if line.strip() and (found := json.loads(line)[name])["state"] in states:
                return cast(dict[str, Any], found)
    raise SystemExit(f"the {name} did not become {' or '.join(states)}")


async def write_file(session: aiohttp.ClientSession, address: str) -> dict[str, float]:
    """Exports to a file, downloads it and deletes the export."""
    url, request = f"http://{address}/api/exports", {"format": "NDJSON"}
    started = time.perf_counter()
    async with session.post(url, json=request) as response:
        response.raise_for_status()
        url += f"/{(await response.json())['export']['id']}"
    await until(session, url, "export", "SUCCEEDED", "FAILED")
    seconds = time.perf_counter() - started
    async with session.get(f"{url}/file") as response:
        response.raise_for_status()
        lines, failures = await lines_of(response)
    async with session.delete(url) as response:
        response.raise_for_status()
    return {"lines": lines, "failures": failures, "seconds": seconds}


async def main(what: str, address: str, key: str, *more: str) -> None:
    headers = {"Authorization": f"Bearer {key}"}
    timeout = aiohttp.ClientTimeout(total=600)
    query, media_type, make = IMPORTS.get(what, ("", "", rows))
    chunks = make(int(more[0]), int(more[1])) if more else []
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        if what == "export-file":
            print(json.dumps(await write_file(session, address)))
            return
        if what == "import-file":
            print(json.dumps(await import_file(session, address, chunks)))
            return
        started = time.perf_counter()
        if what in IMPORTS:
            url = f"http://{address}/api/subscribers/import{query}"
            call = session.post(url, data=send(chunks), headers={"Content-Type": media_type})
        else:
            query = "?include=links" if what == "export-links" else ""
            call = session.get(f"http://{address}/api/subscribers/export{query}")
        async with call as response:
            response.raise_for_status()
            lines, failures = await lines_of(response)
        seconds = time.perf_counter() - started
    print(json.dumps({"lines": lines, "failures": failures, "seconds": seconds}))


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
