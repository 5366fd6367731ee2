"""roster suppressions"""

from __future__ import annotations

from contextlib import closing
from enum import StrEnum
from typing import Annotated, Any

import typer
import uvloop

from ..features.suppressions.rules import Reason
from ..serving.console import CommandError, ExitCode, console
from ..storage.output_file import STANDARD
from .options import LOCAL_URL, ApiKey, Json, Url
from .output import print_json
from .service_client import ServiceClient
from .suppressions_client import add as add_all
from .suppressions_client import export_list, import_list
from .transfer.files import FileFormat, export_format
from .transfer.import_options import DateFormatOption, NullTokens, given_options
from .transfer.import_source import Source
from .transfer.import_summary import summary_lines

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Suppress addresses, so that they cannot be subscribed, and list them.",
)


class ReasonName(StrEnum):
    """The reasons as an enumeration of names, which Typer requires for choices."""

    UNSUBSCRIBED, BOUNCED, COMPLAINED, MANUAL = (reason.name for reason in Reason)


ReasonOption = Annotated[
    ReasonName, typer.Option(case_sensitive=False, help="Why the addresses are suppressed.")
]


@app.command()
def add(
    emails: Annotated[
        list[str], typer.Argument(metavar="EMAIL...", help="Addresses, at most 1,000.")
    ],
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    reason: ReasonOption = ReasonName.MANUAL,
    json: Json = False,
) -> None:
    """Suppress addresses. Subscribers with these addresses become UNSUBSCRIBED.

    With a reason other than MANUAL, they get the status of the reason. Subscribers who have
    opted out already keep their status.
    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, and 7 if it rejects the request.
    """
    client = ServiceClient(url, api_key)
    _print(uvloop.run(add_all(client, emails, reason)), as_json=json)


@app.command(name="import")
def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Suppression list; - is standard input.")
    ],
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    reason: ReasonOption = ReasonName.MANUAL,
    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            help="Format of the file. A JSON array is NDJSON. Default: from the first character or"
            " the file suffix.",
        ),
    ] = None,
    charset: Annotated[
        str,
        typer.Option(metavar="NAME", help="Character encoding of the file. Default: UTF-8."),
    ] = "",
    column_map: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="COLUMN=FIELD",
            help="Field that a column of a CSV file sets: email, reason or createdAt. The column"
            " is a name or a position, such as '#2=email'. Can be repeated. Without a field, the"
            " column is ignored.",
        ),
    ] = None,
    date_format: DateFormatOption = None,
    null_token: NullTokens = None,
    json: Json = False,
) -> None:
    """Suppress the addresses of a list in CSV, NDJSON or JSON.

    The list of a service has a column for the address, and may have columns for the reason and
    the time. A list without a header has one address a line. Rows that fail are printed. An
    interrupted import can be repeated.
    Exit codes: 1 if rows failed, 2 if an argument is invalid, 6 if the
    service cannot be reached, 7 if it rejects the request, 8 if the import
    is incomplete, and 130 if the command was interrupted.
    """
    query = given_options(
        reason=reason.value,
        charset=charset,
        columnMap=column_map or [],
        dateFormat=date_format.upper() if date_format else "",
        nullTokens=null_token or [],
    )
    with closing(Source(file)) as source:
        client = ServiceClient(url, api_key)
        try:
            summary = uvloop.run(import_list(client, source, file_format, query))
        except KeyboardInterrupt:
            raise CommandError(
                "Interrupted. Run the same command again.", ExitCode.INTERRUPTED
            ) from None
    _print(summary, as_json=json)
    if summary["failed"]:
        raise SystemExit(ExitCode.ROWS_FAILED)


@app.command()
def export(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File to write; - is standard output.")
    ] = STANDARD,
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            help="Format of the file. Default: from the file suffix; NDJSON without one.",
        ),
    ] = None,
    bom: Annotated[
        bool, typer.Option("--bom", help="Start a CSV file with a byte order mark, for Excel.")
    ] = False,
) -> None:
    """Export the suppressions of an account, oldest first.

    They contain keyed hashes instead of addresses. The file is named FILE.part until it is
    complete.
    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the export is incomplete, and
    130 if the command was interrupted.
    """
    file_format = file_format or export_format(file, compressed=False)
    query = {"format": file_format.upper()} | ({"bom": "true"} if bom else {})
    try:
        uvloop.run(export_list(ServiceClient(url, api_key), file, query))
    except KeyboardInterrupt:
        raise CommandError("Interrupted.", ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        raise SystemExit(1) from None
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}."
        raise CommandError(message, ExitCode.USAGE) from error


def _print(counts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(counts)
        return
    lines = [
        f"Suppressed: {counts['added']:,}. Suppressed before: {counts['existing']:,}."
        f" Failed: {counts.get('failed', 0):,}. Subscribers opted out: {counts['optedOut']:,}."
    ]
    console.print("\n".join([*lines, *summary_lines(counts)]), markup=False, soft_wrap=True)
