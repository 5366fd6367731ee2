"""roster export: the subscribers of an account on a running service, as a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ...console import console, counted
from ...output_file import STANDARD, standard_stream
from ...subscribers.fields import Status
from .files import Form, form_by_ending
from .flags import LOCAL, Key, Url


class StatusName(StrEnum):
    """The statuses, as typer offers them."""

    UNCONFIRMED, CONFIRMED, UNSUBSCRIBED, BOUNCED, COMPLAINED = (each.name for each in Status)


def export(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")
    ] = STANDARD,
    url: Url = LOCAL,
    api_key: Key = "",
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            help="By the file's ending if it is not given, or NDJSON.",
        ),
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

    FILE is there when all of them are; until then they are in FILE.part. It is packed if its
    name ends in .gz or .zst.
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
    # Imported here, since other commands do not need what speaks HTTP.
    from .export_run import run

    rows = run(file, form, filters, url=url, key=api_key, resume=not no_resume)
    if standard_stream(file) is None:
        console.print(f"{file} has {counted(rows, 'subscriber')}.", soft_wrap=True)
