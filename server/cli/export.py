"""roster export"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..features.subscribers.fields import Status
from ..serving.console import console, pluralized
from ..storage.output_file import STANDARD, standard_stream
from .common.files import export_format
from .common.options import LOCAL_URL, ApiKey, Bom, ExportFormat, OutputFile, Search, Url
from .transfer.export_run import run


class StatusName(StrEnum):
    """The statuses as an enumeration of names, which Typer requires for choices."""

    UNCONFIRMED, CONFIRMED, UNSUBSCRIBED, BOUNCED, COMPLAINED = (status.name for status in Status)


class Include(StrEnum):
    """What an export can also contain."""

    LINKS = "links"


def export(
    file: OutputFile = STANDARD,
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    file_format: ExportFormat = None,
    status: Annotated[
        StatusName | None,
        typer.Option(case_sensitive=False, help="Only subscribers with this status."),
    ] = None,
    tag: Annotated[str, typer.Option(help="Only subscribers with this tag.")] = "",
    created_after: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only subscribers created after this.")
    ] = "",
    created_before: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only subscribers created before this.")
    ] = "",
    updated_after: Annotated[
        str,
        typer.Option(metavar="TIMESTAMP", help="Only subscribers with a last change after this."),
    ] = "",
    updated_before: Annotated[
        str,
        typer.Option(metavar="TIMESTAMP", help="Only subscribers with a last change before this."),
    ] = "",
    filter_expression: Annotated[
        str,
        typer.Option("--filter", metavar="EXPRESSION", help="Only subscribers that match this."),
    ] = "",
    segment: Annotated[
        str, typer.Option(metavar="ID", help="Only subscribers of this segment.")
    ] = "",
    search: Search = "",
    full: Annotated[
        bool, typer.Option("--full", help="Also export the times of changes and the consent.")
    ] = False,
    columns: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Fields to export instead, such as email,firstName,customFields.plan. They are"
            " the columns of CSV in this order.",
        ),
    ] = "",
    include: Annotated[
        Include | None,
        typer.Option(
            case_sensitive=False,
            help="links also exports the URLs that confirm and unsubscribe.",
        ),
    ] = None,
    bom: Bom = False,
    no_escape_formulas: Annotated[
        bool,
        typer.Option(
            "--no-escape-formulas",
            help="Write text in CSV as it is, also if a spreadsheet would run it as a formula.",
        ),
    ] = False,
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Start over instead of resuming.")
    ] = False,
) -> None:
    """Export the subscribers of an account to a CSV or NDJSON file, oldest first.

    The file is named FILE.part until it is complete. It is compressed if its name ends in .gz or
    .zst. Run the same command again to resume an incomplete export; with columns of which the first
    is not id, it starts over.
    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the export is incomplete, and
    130 if the command was interrupted.
    """
    file_format = file_format or export_format(file, compressed=True)
    names = [name.strip() for name in columns.split(",") if name.strip()]
    filters: dict[str, str | list[str]] = {
        "status": status or "",
        "tag": tag,
        "createdAfter": created_after,
        "createdBefore": created_before,
        "updatedAfter": updated_after,
        "updatedBefore": updated_before,
        "filter": filter_expression,
        "segmentId": segment,
        "q": search,
        "view": "FULL" if full else "",
        "include": include or "",
        "columns": names,
        "bom": "true" if bom else "",
        "escapeFormulas": "false" if no_escape_formulas else "",
    }
    filters = {name: value for name, value in filters.items() if value}
    # An export continues after the ID of the last row, which is the first column.
    resume = not no_resume and names[:1] in ([], ["id"])
    rows = run(file, file_format, filters, url=url, key=api_key, resume=resume)
    if standard_stream(file) is None:
        console.print(f"{file} contains {pluralized(rows, 'subscriber')}.", soft_wrap=True)
