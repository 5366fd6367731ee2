"""Adds, imports and exports the suppressions of an account on a running service."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import orjson

from ..serving.console import CommandError, ExitCode, notice
from ..storage.output_file import AtomicFile, open_stream, replaceable
from .service_client import ServiceClient, error_of_line, line_blocks
from .transfer.files import FileFormat
from .transfer.import_run import CONTENT_TYPES
from .transfer.import_source import Source


async def add(client: ServiceClient, emails: list[str], reason: str) -> dict[str, Any]:
    """Adds suppressions and returns the counts."""
    body = {"emails": emails, "reason": reason}
    async with client:
        counts: dict[str, Any] = await client.post("/api/suppressions", body)
    return counts


async def import_list(
    client: ServiceClient,
    source: Source,
    file_format: FileFormat | None,
    query: Mapping[str, str | list[str]],
) -> dict[str, Any]:
    """Sends a list, prints the failed rows, and returns the summary. Raises CommandError."""
    summary: dict[str, Any] = {}
    async with client:
        file_format = file_format or await source.detect_format()
        async with client.request(
            "POST",
            "/api/suppressions/import",
            query,
            data=source.chunks(),
            headers={"Content-Type": CONTENT_TYPES[file_format]},
        ) as response:
            async for block in line_blocks(response):
                for line in filter(None, block.split(b"\n")):
                    if error := error_of_line(line):
                        raise source.error or error
                    record = orjson.loads(line)
                    summary = record.get("summary", summary)
                    if record.get("outcome") == "FAILED":
                        notice(_failure(record))
    if source.error:
        raise source.error
    if not summary:
        raise CommandError(
            "The service ended the response before all rows were sent.", ExitCode.INCOMPLETE
        )
    return summary


async def export_list(client: ServiceClient, file: str, query: Mapping[str, str]) -> None:
    """Writes all suppressions to a file, which is replaced when it is complete.

    Raises CommandError, or OSError if the file cannot be written.
    """
    path = replaceable(file)
    with ExitStack() as stack:
        part = AtomicFile(path) if path else None
        target = part.file if part else stack.enter_context(open_stream(file))
        if part:
            part.truncate(0)
            stack.callback(part.close)
        async with client, client.request("GET", "/api/suppressions/export", query) as response:
            async for block in line_blocks(response):
                last_line = block[block.rfind(b"\n", 0, len(block) - 1) + 1 :]
                if error := error_of_line(last_line):
                    raise error
                target.write(block)
        if part:
            part.publish()


def _failure(result: Mapping[str, Any]) -> str:
    field = f" ({result['field']})" if "field" in result else ""
    return f"Line {result['line']}, {result['email'] or 'no address'}: {result['failure']}{field}."
