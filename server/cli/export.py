"""roster export"""

from __future__ import annotations

import click

from ..features.subscribers.fields import Status
from ..serving.console import echo, pluralized
from ..storage.output_file import standard_stream
from .common.files import FileFormat, export_format
from .common.options import (
    Choice,
    api_key_option,
    bom_option,
    export_format_option,
    output_file_argument,
    search_option,
    url_option,
)
from .transfer.export_run import run


@click.command()
@output_file_argument
@url_option
@api_key_option
@export_format_option
@click.option(
    "--status",
    type=Choice(status.name for status in Status),
    help="Only subscribers with this status.",
)
@click.option("--tag", default="", help="Only subscribers with this tag.")
@click.option(
    "--created-after", default="", metavar="TIMESTAMP", help="Only subscribers created after this."
)
@click.option(
    "--created-before",
    default="",
    metavar="TIMESTAMP",
    help="Only subscribers created before this.",
)
@click.option(
    "--updated-after",
    default="",
    metavar="TIMESTAMP",
    help="Only subscribers with a last change after this.",
)
@click.option(
    "--updated-before",
    default="",
    metavar="TIMESTAMP",
    help="Only subscribers with a last change before this.",
)
@click.option(
    "--filter",
    "filter_expression",
    default="",
    metavar="EXPRESSION",
    help="Only subscribers that match this.",
)
@click.option("--segment", default="", metavar="ID", help="Only subscribers of this segment.")
@search_option
@click.option("--full", is_flag=True, help="Also export the times of changes and the consent.")
@click.option(
    "--columns",
    default="",
    metavar="NAMES",
    help="Fields to export instead, such as email,firstName,customFields.plan. They are"
    " the columns of CSV in this order.",
)
@click.option(
    "--include",
    type=Choice(["links"]),
    help="links also exports the URLs that confirm and unsubscribe.",
)
@bom_option
@click.option(
    "--no-escape-formulas",
    is_flag=True,
    help="Write text in CSV as it is, also if a spreadsheet would run it as a formula.",
)
@click.option("--no-resume", is_flag=True, help="Start over instead of resuming.")
def export(
    file: str,
    url: str,
    api_key: str,
    file_format: FileFormat | None,
    status: str | None,
    tag: str,
    created_after: str,
    created_before: str,
    updated_after: str,
    updated_before: str,
    filter_expression: str,
    segment: str,
    search: str,
    full: bool,
    columns: str,
    include: str | None,
    bom: bool,
    no_escape_formulas: bool,
    no_resume: bool,
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
        echo(f"{file} contains {pluralized(rows, 'subscriber')}.")
