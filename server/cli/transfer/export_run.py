"""Runs an export: copies the response of the service to the target.

An incomplete export to a file is resumed by the next run, see `export_file.py`.
"""

from __future__ import annotations

import uvloop

from ...serving.console import CommandError, ExitCode, notice, pluralized
from ...storage.output_file import replaceable
from ..common.endings import writing
from ..common.files import FileFormat
from ..common.progress import RowProgress
from ..common.service_client import ServiceClient, fingerprint, line_blocks
from .compression import compression_by_suffix
from .export_file import ExportFile, RowCounter
from .export_target import PartialExport, StreamTarget

ExportTarget = ExportFile | StreamTarget
# The parameters of an export that a list does not have.
_EXPORT_ONLY = ("columns", "include", "bom", "escapeFormulas")
# Query parameters.
Filters = dict[str, str | list[str]]


def run(
    file: str,
    file_format: FileFormat,
    filters: Filters,
    *,
    url: str,
    key: str,
    resume: bool,
) -> int:
    """Exports, and returns the number of rows in the file, including those of earlier runs.

    Raises CommandError, with a hint on how to resume, if the export is incomplete.
    """
    client = ServiceClient(url, key)
    compression = compression_by_suffix(file)
    job = {"service": client.url, "key": fingerprint(key), "format": file_format, **filters}
    with writing(file, ExitCode.USAGE):
        path = replaceable(file)
    target: ExportTarget = (
        ExportFile(path, file_format, job, compression) if path else StreamTarget(file, compression)
    )
    try:
        rows = uvloop.run(_export(client, target, file_format, filters, resume=resume))
        target.finish()
        return rows
    except KeyboardInterrupt:
        raise CommandError(f"Interrupted. {target.hint()}", ExitCode.INTERRUPTED) from None
    except CommandError as error:
        if error.exit_code is ExitCode.INCOMPLETE:
            raise error.with_hint(target.hint()) from error
        raise


async def _export(
    client: ServiceClient,
    target: ExportTarget,
    file_format: FileFormat,
    filters: Filters,
    *,
    resume: bool,
) -> int:
    async with client:
        counted = {name: str(filters[name]) for name in filters if name not in _EXPORT_ONLY}
        total = await client.count_subscribers(**counted)
        partial = target.open(resume=resume)
        if partial.rows:
            rows = pluralized(partial.rows, "subscriber")
            notice(f"Resuming after the {rows} of the last run.")
        try:
            return await _receive(client, target, file_format, filters, partial, total)
        except BaseException:
            target.abort()
            raise


async def _receive(
    client: ServiceClient,
    target: ExportTarget,
    file_format: FileFormat,
    filters: Filters,
    partial: PartialExport,
    total: int,
) -> int:
    """Writes the response to the target and returns the number of rows in the target."""
    query = {"format": file_format.upper(), **filters}
    if partial.last_id:
        query["afterId"] = partial.last_id
    rows, counter = partial.rows, RowCounter(file_format)
    expects_header = file_format is FileFormat.CSV
    with RowProgress(rows, rows, hidden=target.hides_progress) as progress:
        async with client.request("GET", "/api/subscribers/export", query) as response:
            async for block in line_blocks(response):
                if expects_header:
                    block, expects_header = _without_header(block, partial, target), False
                if file_format is FileFormat.NDJSON:
                    block = _without_blank_lines(block)
                data, error = client.split_error(block)
                target.write(data)
                rows += counter.count(data)
                if error is not None:
                    raise error
                progress.show(rows, rows, total)
    return rows


def _without_header(block: bytes, partial: PartialExport, target: ExportTarget) -> bytes:
    """Returns the block without its CSV header. Writes the header to a new target."""
    cut = block.index(b"\n") + 1
    if not partial.header:
        target.write(block[:cut])
    elif block[:cut] != partial.header:
        raise CommandError(
            "The custom fields of the account have changed since this export started. Start over"
            " with --no-resume.",
            ExitCode.REJECTED,
        )
    return block[cut:]


def _without_blank_lines(block: bytes) -> bytes:
    """Removes the blank lines that the service sends to keep the connection alive."""
    if not block.startswith(b"\n") and b"\n\n" not in block:
        return block
    return b"".join(line for line in block.splitlines(keepends=True) if line != b"\n")
