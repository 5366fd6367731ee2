"""One run of an export: what the service sends, to where it goes.

An export to a file that breaks off leaves a part behind (export_part.py), and goes on
there when it is run again.
"""

from __future__ import annotations

import uvloop

from ...console import ExitCode, counted, say
from ...output_file import replaceable
from .errors import TransferError
from .export_output import Stream, Target
from .files import Form
from .packing import packing_by_ending
from .partial_file import ExportPart, Found, RowCounter
from .progress import Bar
from .service_client import Remote, blocks, fingerprint, told_error


def run(file: str, form: Form, filters: dict[str, str], *, url: str, key: str, resume: bool) -> int:
    """Exports, and returns how many rows the file has then.

    Raises TransferError, which says how to go on, if that does not come to its end.
    """
    remote = Remote(url, key)
    packing = packing_by_ending(file)
    job = {"service": remote.url, "key": fingerprint(key), "format": form, **filters}
    try:
        path = replaceable(file)
    except OSError as error:
        raise TransferError(
            f"{file} cannot be written: {error.strerror}.", ExitCode.USAGE
        ) from error
    target: Target = ExportPart(path, form, job, packing) if path else Stream(file, packing)
    try:
        rows = uvloop.run(_export(remote, target, form, filters, resume=resume))
        target.finish()
        return rows
    except KeyboardInterrupt:
        raise TransferError(f"Interrupted. {target.hint()}", ExitCode.INTERRUPTED) from None
    except TransferError as error:
        if error.ending is ExitCode.BROKEN:
            raise error.with_hint(target.hint()) from error
        raise


async def _export(
    remote: Remote, target: Target, form: Form, filters: dict[str, str], *, resume: bool
) -> int:
    """Writes what the service sends, and returns how many rows that makes with those before."""
    async with remote:
        total = (await remote.first(**filters)).total
        found = target.open(resume=resume)
        if found.rows:
            say(f"Goes on after the {counted(found.rows, 'subscriber')} of the last run.")
        try:
            rows = await _receive(remote, target, form, filters, found, total)
        except BaseException:
            target.leave()
            raise
    return rows


async def _receive(
    remote: Remote, target: Target, form: Form, filters: dict[str, str], found: Found, total: int
) -> int:
    query = {"format": form.upper(), **filters}
    if found.last_id:
        query["afterId"] = found.last_id
    rows, counter, header = found.rows, RowCounter(form), form is Form.CSV
    with Bar(rows, rows, hidden=target.hides_bar) as bar:
        async with remote.answer("GET", "/api/subscribers/export", query) as answer:
            async for block in blocks(answer):
                if header:
                    block, header = _after_header(block, found, target), False
                if form is Form.NDJSON:
                    block = _without_blank_lines(block)
                data, error = _without_error(block)
                target.write(data)
                rows += counter.count(data)
                if error is not None:
                    raise error
                bar.show(rows, rows, total)
    return rows


def _after_header(block: bytes, found: Found, target: Target) -> bytes:
    """Returns what comes after the header of a table, which is written unless it is there."""
    cut = block.index(b"\n") + 1
    if not found.header:
        target.write(block[:cut])
    elif block[:cut] != found.header:
        raise TransferError(
            "The account has other custom fields than when this export began. Start over with"
            " --no-resume.",
            ExitCode.REFUSED,
        )
    return block[cut:]


def _without_blank_lines(block: bytes) -> bytes:
    """Returns what is left of lines without those that only kept the connection."""
    if not block.startswith(b"\n") and b"\n\n" not in block:
        return block
    return b"".join(line for line in block.splitlines(keepends=True) if line != b"\n")


def _without_error(block: bytes) -> tuple[bytes, TransferError | None]:
    """Returns the rows of a block, and the error that its last line is if it is one."""
    cut = block.rfind(b"\n", 0, len(block) - 1) + 1
    error = told_error(block[cut:])
    return (block, None) if error is None else (block[:cut], error)
