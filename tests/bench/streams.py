"""A client of the streams, with uploads and downloads in constant memory.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.bench.streams import HOST:PORT KEY ROWS FIRST
    python -m tests.bench.streams export HOST:PORT KEY

Prints one JSON object: the number of lines in the response, the seconds, and the number of lines
that report a failure.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator

import aiohttp
import uvloop

LINES_PER_CHUNK = 500


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


async def main(what: str, address: str, key: str, *more: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-ndjson"}
    timeout = aiohttp.ClientTimeout(total=600)
    chunks = rows(int(more[0]), int(more[1])) if what == "import" else []
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        started = time.perf_counter()
        if what == "import":
            call = session.post(f"http://{address}/api/subscribers/import", data=send(chunks))
        else:
            call = session.get(f"http://{address}/api/subscribers/export")
        async with call as response:
            response.raise_for_status()
            lines, failures = await lines_of(response)
        seconds = time.perf_counter() - started
    print(json.dumps({"lines": lines, "failures": failures, "seconds": seconds}))


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
