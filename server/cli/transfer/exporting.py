"""roster export: the subscribers of an account on a running service, as a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from ...subscribers.rules import Status
from ..output import ExitCode, console
from .export_part import Found, Part, RowCounter
from .export_target import StandardOutput, Target
from .files import Form, form_by_ending
from .progress import Bar
from .remote import (
    LOCAL,
    Key,
    Remote,
    TransferError,
    Url,
    blocks,
    fingerprint,
    say,
    told_error,
)

STANDARD_OUTPUT = "-"


class StatusName(StrEnum):
    """The statuses, as typer offers them."""

    UNCONFIRMED, CONFIRMED, UNSUBSCRIBED, BOUNCED, COMPLAINED = (each.name for each in Status)


def export(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")
    ] = STANDARD_OUTPUT,
    url: Url = LOCAL,
    api_key: Key = "",
    form: Annotated[
        Form | None,
        typer.Option("--format", help="By the file's ending if it is not given, or NDJSON."),
    ] = None,
    status: Annotated[
        StatusName | None,
        typer.Option(case_sensitive=False, help="Only subscribers of this status."),
    ] = None,
    tag: Annotated[str, typer.Option(help="Only subscribers that have this tag.")] = "",
    created_after: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only those created later than this.")
    ] = "",
    created_before: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only those created earlier than this.")
    ] = "",
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Start over, even if the last run broke off.")
    ] = False,
) -> None:
    """Write the subscribers of an account to a CSV or NDJSON file, oldest first.

    FILE is there when all of them are; until then they are in FILE.part.
    Run it again when it breaks off: it goes on where it was. Ends with 0 if
    all were written, 2 if an argument is wrong, 6 if the service cannot be
    reached, 7 if it refuses, 8 if the export broke off and 130 if it was
    interrupted.
    """
    form = form or form_by_ending(file) or Form.NDJSON
    filters = {
        "status": status or "",
        "tag": tag,
        "createdAfter": created_after,
        "createdBefore": created_before,
    }
    filters = {name: value for name, value in filters.items() if value}
    remote = Remote(url, api_key)
    target: Target = StandardOutput()
    if Path(file).is_dir():
        raise TransferError(f"{file} is a folder.", ExitCode.USAGE)
    if file != STANDARD_OUTPUT:
        job = {"service": remote.url, "key": fingerprint(api_key), "format": form, **filters}
        target = Part(Path(file), form, job)
    try:
        rows = uvloop.run(_export(remote, target, form, filters, resume=not no_resume))
    except KeyboardInterrupt:
        raise TransferError(f"Interrupted. {target.hint()}", ExitCode.INTERRUPTED) from None
    except TransferError as error:
        if error.ending is ExitCode.BROKEN:
            raise error.with_hint(target.hint()) from error
        raise
    if file != STANDARD_OUTPUT:
        console.print(f"{rows:,} subscribers are in {file}.", soft_wrap=True)


async def _export(
    remote: Remote, target: Target, form: Form, filters: dict[str, str], *, resume: bool
) -> int:
    """Writes what the service sends, and returns how many rows that makes with those before."""
    async with remote:
        total = (await remote.first(**filters)).total
        found = target.open(resume=resume)
        if found.rows:
            say(f"Goes on after {found.rows:,} subscribers that are there already.")
        try:
            rows = await _receive(remote, target, form, filters, found, total)
        except BaseException:
            target.leave()
            raise
    target.finish()
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


def _without_error(block: bytes) -> tuple[bytes, TransferError | None]:
    """Returns the rows of a block, and the error that its last line is if it is one."""
    cut = block.rfind(b"\n", 0, len(block) - 1) + 1
    error = told_error(block[cut:])
    return (block, None) if error is None else (block[:cut], error)
