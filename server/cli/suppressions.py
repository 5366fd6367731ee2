"""roster suppressions"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

import click
import orjson

from ..features.suppressions.columns import CellOptions, Columns
from ..features.suppressions.rules import Reason
from ..rpc.errors import ValidationError
from ..serving.console import CommandError, ExitCode, echo, notice, pluralized
from ..storage.output_file import AtomicFile, open_stream, replaceable
from .common.endings import writing
from .common.files import CONTENT_TYPES, FileFormat, export_format
from .common.options import (
    Choice,
    api_key_option,
    bom_option,
    export_format_option,
    import_format_option,
    json_option,
    output_file_argument,
    url_option,
)
from .common.output import print_json
from .common.service_client import ServiceClient, line_blocks, run
from .transfer.import_options import date_format_option, given_options, null_token_option
from .transfer.import_rows import SentRows
from .transfer.import_source import Source
from .transfer.import_summary import summary_lines

_REASONS = [reason.name for reason in Reason]


@click.group()
def app() -> None:
    """Suppress addresses, so that they cannot be subscribed, and list them."""


@app.command()
@click.argument(
    "emails", nargs=-1, required=True, metavar="EMAIL...", help="Addresses, at most 1,000."
)
@url_option
@api_key_option
@click.option(
    "--reason",
    type=Choice(_REASONS),
    default=Reason.MANUAL.name,
    show_default=True,
    help="Why the addresses are suppressed.",
)
@json_option
def add(emails: tuple[str, ...], url: str, api_key: str, reason: str, json: bool) -> None:
    """Suppress addresses. Subscribers with these addresses become UNSUBSCRIBED.

    With a reason other than MANUAL, they get the status of the reason. Subscribers who have
    opted out already keep their status. Addresses that are rejected are printed.

    Exit codes: 1 if addresses were rejected, 2 if an argument is invalid, 6
    if the service cannot be reached, and 7 if it rejects the request.
    """
    client = ServiceClient(url, api_key)
    counts = run(_add(client, emails, reason))
    for failure in counts["failed"]:
        notice(f"{failure['email'] or 'no address'}: {failure['reason']}.")
    _print(counts, len(counts["failed"]), as_json=json)
    if counts["failed"]:
        raise SystemExit(ExitCode.ROWS_FAILED)


@app.command(name="import")
@click.argument("file", help="Suppression list; - is standard input.")
@url_option
@api_key_option
@click.option(
    "--reason",
    type=Choice(_REASONS),
    help="Why the addresses are suppressed, for rows without a reason. Default: MANUAL.",
)
@import_format_option
@click.option(
    "--charset", default="", metavar="NAME", help="Character encoding of the file. Default: UTF-8."
)
@click.option(
    "--map",
    "column_map",
    multiple=True,
    metavar="COLUMN=FIELD",
    help="Field that a column of a CSV file sets: email, reason or createdAt. The column"
    " is a name or a position, such as '#2=email'. Repeatable. Without a field, the"
    " column is ignored.",
)
@date_format_option
@null_token_option
@json_option
def import_(
    file: str,
    url: str,
    api_key: str,
    reason: str | None,
    file_format: FileFormat | None,
    charset: str,
    column_map: tuple[str, ...],
    date_format: str | None,
    null_token: tuple[str, ...],
    json: bool,
) -> None:
    """Suppress the addresses of a list in CSV, NDJSON or JSON.

    The list of a service has a column for the address, and may have columns for the reason and
    the time. A list without a header has addresses only. If a list has unknown columns and
    none for the reason, nothing is sent unless --map or --reason is given. Rows that fail are
    printed. An interrupted import can be repeated.

    Exit codes: 1 if rows failed, 2 if an argument is invalid, 6 if the
    service cannot be reached, 7 if it rejects the request, 8 if the import
    is incomplete, and 130 if the command was interrupted.
    """
    query = given_options(
        reason=reason or "",
        charset=charset,
        columnMap=column_map,
        dateFormat=date_format.upper() if date_format else "",
        nullTokens=null_token,
    )
    with closing(Source(file)) as source:
        client = ServiceClient(url, api_key)
        summary = run(
            _import(client, source, file_format, query),
            if_interrupted="Interrupted. Run the same command again.",
        )
    _print(summary, summary["failed"], as_json=json)
    if summary["failed"]:
        raise SystemExit(ExitCode.ROWS_FAILED)


@app.command()
@output_file_argument
@url_option
@api_key_option
@export_format_option
@bom_option
def export(file: str, url: str, api_key: str, file_format: FileFormat | None, bom: bool) -> None:
    """Export the suppressions of an account, oldest first.

    They contain keyed hashes instead of addresses. The file is named FILE.part until it is
    complete.

    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the export is incomplete, and
    130 if the command was interrupted.
    """
    file_format = file_format or export_format(file, compressed=False)
    query = {"format": file_format.upper()} | ({"bom": "true"} if bom else {})
    with writing(file, ExitCode.USAGE):
        try:
            run(_export(ServiceClient(url, api_key), file, query))
        except BrokenPipeError:
            raise SystemExit(1) from None


def _print(counts: dict[str, Any], failed: int, *, as_json: bool) -> None:
    if as_json:
        print_json(counts)
        return
    lines = [
        f"Suppressed: {counts['added']:,}. Suppressed before: {counts['existing']:,}."
        f" Failed: {failed:,}. Subscribers opted out: {counts['optedOut']:,}."
    ]
    echo("\n".join([*lines, *summary_lines(counts)]))


async def _add(client: ServiceClient, emails: Sequence[str], reason: str) -> dict[str, Any]:
    """Adds suppressions and returns the counts."""
    body = {"emails": emails, "reason": reason}
    async with client:
        counts: dict[str, Any] = await client.post("/api/suppressions", body)
    return counts


async def _import(
    client: ServiceClient,
    source: Source,
    file_format: FileFormat | None,
    query: Mapping[str, str | list[str]],
) -> dict[str, Any]:
    """Sends a list, prints the failed rows, and returns the summary. Raises CommandError."""
    summary: dict[str, Any] = {}
    tally = _Tally()
    async with client:
        detected = await source.detect_format()
        file_format = file_format or detected
        if file_format is FileFormat.CSV and "reason" not in query:
            _check_columns(source.first, query)
        try:
            async with client.request(
                "POST",
                "/api/suppressions/import",
                query,
                data=source.chunks(),
                headers={"Content-Type": CONTENT_TYPES[file_format]},
            ) as response:
                async for block in line_blocks(response):
                    for line in filter(None, block.split(b"\n")):
                        if error := client.error_of_line(line):
                            raise error
                        record = orjson.loads(line)
                        summary = record.get("summary", summary)
                        tally.count(record)
        except CommandError as error:
            raise (source.error or error).with_hint(tally.hint()) from error
    if source.error:
        raise source.error.with_hint(tally.hint())
    if not summary:
        raise CommandError(
            "The service ended the response before all rows were sent.", ExitCode.INCOMPLETE
        ).with_hint(tally.hint())
    return summary


class _Tally:
    """Counts the received results, and prints those of failed rows."""

    def __init__(self) -> None:
        self._line = self._suppressed = self._failed = 0

    def count(self, record: Mapping[str, Any]) -> None:
        if "outcome" not in record:
            return
        self._line = int(record["line"])
        if record["outcome"] == "FAILED":
            self._failed += 1
            notice(_failure(record))
        else:
            self._suppressed += 1

    def hint(self) -> str:
        """Returns what an incomplete import is known to have stored."""
        if not self._line:
            return ""
        return (
            f"Up to line {self._line:,}, {pluralized(self._suppressed, 'row')} were accepted and"
            f" {self._failed:,} failed. To import the rest, import the whole file again."
        )


def _check_columns(start: bytes, query: Mapping[str, str | list[str]]) -> None:
    """Raises CommandError if the reasons of a file may be in an unknown column.

    A stored reason is only replaced by a stricter one, so a second import would not correct it.
    Does nothing if the header is not valid, which the service reports.
    """
    rows = SentRows(FileFormat.CSV, str(query.get("charset", "")), 0)
    rows.feed(start)
    try:
        columns = Columns(rows.header or [], CellOptions(list(query.get("columnMap", []))))
    except ValidationError:
        return
    if columns.has_header and columns.unknown and not columns.has_reason:
        listed = ", ".join(columns.unknown)
        raise CommandError(
            f"No column is known to have the reasons. Unknown columns: {listed}. Nothing was sent."
            f' Map a column to reason or createdAt, such as --map "{columns.unknown[0]}=reason", or'
            " state the reason of all rows with --reason.",
            ExitCode.USAGE,
        )


async def _export(client: ServiceClient, file: str, query: Mapping[str, str]) -> None:
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
                data, error = client.split_error(block)
                if error is not None:
                    raise error
                target.write(data)
        if part:
            part.publish()


def _failure(result: Mapping[str, Any]) -> str:
    field = f" ({result['field']})" if "field" in result else ""
    return f"Line {result['line']}, {result['email'] or 'no address'}: {result['reason']}{field}."
