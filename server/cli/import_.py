"""roster import"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import click
import uvloop

from ..features.imports.cells import OPTED_OUT_FLAG
from ..features.imports.consent_columns import names_opt_outs
from ..features.imports.presets import PRESETS
from ..serving.console import CommandError, ExitCode, echo, notice, pluralized
from ..storage.output_file import STANDARD
from ..values.texts import column_key
from .common.files import FileFormat
from .common.options import (
    Choice,
    api_key_option,
    import_format_option,
    json_option,
    search_option,
    url_option,
)
from .common.output import print_json
from .common.service_client import ServiceClient
from .transfer.import_failures import Failures
from .transfer.import_job import ImportJobRun
from .transfer.import_options import (
    OnConflict,
    date_format_option,
    given_options,
    null_token_option,
)
from .transfer.import_run import ImportRun
from .transfer.import_source import Source
from .transfer.import_summary import summary_lines

# The fields that state opt-outs, by column key.
_OF_OPT_OUTS = frozenset(map(column_key, ("status", OPTED_OUT_FLAG, "unsubscribedAt")))


@click.command()
@click.argument("file", help="File to import; - is standard input.")
@url_option
@api_key_option
@click.option(
    "--on-conflict",
    type=Choice(OnConflict),
    default=OnConflict.FAIL.value,
    show_default=True,
    help="Action for a row with an existing address. Its status can only become stricter.",
)
@import_format_option
@click.option(
    "--preset",
    type=Choice(PRESETS),
    help="Service that exported a CSV file. Default: detected from the header.",
)
@click.option(
    "--map",
    "column_map",
    multiple=True,
    metavar="COLUMN=FIELD",
    help="Field that a column of a CSV file sets, such as 'E-mail contact=email',"
    " 'Name=firstName+lastName', '#3=tags' for the third column, or one of the flags"
    " optedIn and optedOut. Repeatable."
    " Without a field, the column is ignored.",
)
@click.option(
    "--status-map",
    multiple=True,
    metavar="WORD=STATUS",
    help="Status of a word in a column of statuses, such as 'abgemeldet=UNSUBSCRIBED', or"
    " of a word in a flag that is neither yes nor no. Repeatable.",
)
@click.option(
    "--ignore-column",
    multiple=True,
    metavar="COLUMN",
    help="Column of a CSV file to ignore, even if its name looks like consent. Repeatable.",
)
@click.option(
    "--unknown-columns",
    type=Choice(["fail", "ignore", "create-fields"]),
    help="Action for unknown columns of a CSV file and unknown custom fields of JSON rows."
    " Default: ignore with a preset of another service, otherwise fail.",
)
@date_format_option
@null_token_option
@click.option(
    "--add-tag",
    multiple=True,
    metavar="TAG",
    help="Tag for every imported subscriber. Repeatable.",
)
@click.option(
    "--confirmed",
    is_flag=True,
    help="New subscribers whose rows state nothing about it have confirmed the"
    " subscription. Existing subscribers keep their status. Default: they are"
    " UNCONFIRMED.",
)
@click.option(
    "--consent-source",
    default="",
    metavar="TEXT",
    help="Origin of the consent of new subscribers whose rows state none, such as the name"
    " of a form. At most 200 characters.",
)
@click.option(
    "--filter",
    "filter_expression",
    default="",
    metavar="EXPRESSION",
    help="Filter expression. Only rows that match it are imported.",
)
@click.option(
    "--segment",
    default="",
    metavar="ID",
    help="Segment. Only rows that match its filter are imported.",
)
@search_option
@click.option(
    "--charset",
    default="",
    metavar="NAME",
    help="Character encoding, such as windows-1252. Default: UTF-8, or UTF-16 if the file"
    " starts with its byte order mark.",
)
@click.option(
    "--dry-run", is_flag=True, help="Validate all rows and report the results, but store nothing."
)
@click.option(
    "--failures",
    default="",
    metavar="FILE",
    help="File for the rows that fail, in the format of the imported file; - is standard"
    " output. Default: FILE.failures.csv or FILE.failures.ndjson, and none for standard"
    " input or a FIFO.",
)
@click.option("--no-resume", is_flag=True, help="Start over instead of resuming.")
@click.option(
    "--stream",
    is_flag=True,
    help="Send the rows and receive their results in one request, instead of uploading the"
    " file first.",
)
@json_option
def import_(
    file: str,
    url: str,
    api_key: str,
    on_conflict: OnConflict,
    file_format: FileFormat | None,
    preset: str | None,
    column_map: tuple[str, ...],
    status_map: tuple[str, ...],
    ignore_column: tuple[str, ...],
    unknown_columns: str | None,
    date_format: str | None,
    null_token: tuple[str, ...],
    add_tag: tuple[str, ...],
    confirmed: bool,
    consent_source: str,
    filter_expression: str,
    segment: str,
    search: str,
    charset: str,
    dry_run: bool,
    failures: str,
    no_resume: bool,
    stream: bool,
    json: bool,
) -> None:
    """Import subscribers from a CSV, NDJSON or JSON file into a running service.

    Files that are compressed with gzip or Zstandard, and ZIP archives with one CSV or JSON file,
    are detected by their content. The file for failed rows has the rows with all their columns
    and the columns line, reason and field, in the encoding and with the delimiter of the imported
    file. Correct it and import it with the same options. It also has the opt-outs that were stored
    without some of their cells, with the reason DROPPED_CELLS. It is replaced
    when the import is complete and a row failed or was stored without a cell.

    The file is uploaded, checked as a whole, and then imported in the background of the service.
    Run the same command again to continue an interrupted upload, or to wait for the end of an
    import: it continues in the service, also after Ctrl-C.
    With --stream or --dry-run, for standard input and a FIFO, for files over 2 GiB or that are
    damaged, and with services of earlier versions, the rows are sent in one request instead. A
    stream ends with the command, and is resumed by the same command, unless it is a dry run. It
    then skips rows with an existing address, or updates them, because the interrupted stream may
    have stored them.

    Exit codes: 1 if rows failed, 2 if an argument is invalid, 6 if the
    service cannot be reached, 7 if it rejects the request, 8 if the import
    is incomplete, and 130 if the command was interrupted.
    """
    if failures and failures != STANDARD and os.path.realpath(failures) == os.path.realpath(file):
        raise CommandError(f"--failures must not be the imported file {file}.", ExitCode.USAGE)
    if stream and not dry_run:
        _check_name(file, column_map)
    client = ServiceClient(url, api_key)
    with closing(Source(file)) as source:
        query = given_options(
            preset=preset or "",
            columnMap=column_map,
            statusMap=status_map,
            ignoreColumns=ignore_column,
            unknownColumns=unknown_columns.upper().replace("-", "_") if unknown_columns else "",
            dateFormat=date_format.upper() if date_format else "",
            nullTokens=null_token,
            addTags=add_tag,
            isConfirmed="true" if confirmed else "",
            consentSource=consent_source,
            filter=filter_expression,
            segmentId=segment,
            q=search,
            charset=charset,
            dryRun="true" if dry_run else "",
        )
        listed = Failures(failures) if failures else None
        resume = not no_resume
        job = ImportJobRun(client, file, file_format, on_conflict, query, listed, resume=resume)
        run: ImportJobRun | ImportRun = job
        if stream or dry_run or not source.can_resume or not _run(job):
            run = ImportRun(client, source, file_format, on_conflict, query, listed, resume=resume)
            _run(run)
    _print(run, as_json=json)
    if run.failures_error:
        notice(f"All rows were sent, but the failed rows cannot be listed: {run.failures_error}")
    if run.tally.failed:
        raise SystemExit(ExitCode.ROWS_FAILED)


def _check_name(file: str, column_map: Sequence[str]) -> None:
    """Raises CommandError for a list of opt-outs, by its name, unless a column states them.

    Otherwise the service checks that the rows of such a file state opt-outs, before it stores any.
    """
    if not names_opt_outs(os.path.basename(file)):
        return
    targets = {column_key(entry.rpartition("=")[2]) for entry in column_map}
    if targets.isdisjoint(_OF_OPT_OUTS):
        raise CommandError(
            f"{file} has the name of a list of people who opted out, whose rows are not checked"
            " before they are stored with --stream. Import it without --stream, map a column to"
            " status or optedOut with --map, or use 'roster suppressions import'.",
            ExitCode.USAGE,
        )


def _run(run: ImportJobRun | ImportRun) -> bool:
    """Runs an import. Raises CommandError, with a hint on how to resume, if it is incomplete.

    Returns false if it has to be run as a stream.
    """
    try:
        return uvloop.run(run.run())
    except KeyboardInterrupt:
        error = CommandError("Interrupted.", ExitCode.INTERRUPTED)
    except CommandError as failure:
        error = failure
    except OSError as failure:
        error = CommandError(f"A file cannot be written: {failure.strerror}.", ExitCode.INCOMPLETE)
    raise error.with_hint(run.hint(error.exit_code))


def _print(run: ImportJobRun | ImportRun, *, as_json: bool) -> None:
    """Prints the counts, to standard error if the failed rows went to standard output."""
    tally, failures = run.tally, run.failures
    is_listed = failures is not None and not run.failures_error and (tally.failed or tally.dropped)
    path = failures.name if failures and is_listed else None
    err = failures is not None and failures.is_standard_output
    counts = {outcome.lower(): number for outcome, number in tally.counts.items()}
    if as_json:
        print_json(
            {
                **counts,
                "rowsWithDroppedCells": tally.dropped,
                "reasons": tally.reasons.as_json(),
                "failures": path,
                "resumedAfterLine": run.resumed_after,
                "summary": run.summary,
            },
            err=err,
        )
        return
    words = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
    lines = [f"{pluralized(tally.rows, 'row')}: {words}."]
    lines += [_reason_line(each) for each in tally.reasons.as_json()]
    if run.resumed:
        outcome = "updated" if run.on_conflict is OnConflict.UPDATE else "skipped"
        lines.append(
            "The import was resumed. Rows that were stored before the interruption without a"
            f" received result are counted as {outcome}. What follows is of the rows after line"
            f" {run.resumed_after:,}."
        )
    lines += summary_lines(run.summary)
    if run.summary.get("optedOut"):
        lines.append(f"Confirmed before, and opted out by the file: {run.summary['optedOut']:,}.")
    if tally.dropped:
        more = ", ..." if tally.dropped > len(tally.dropped_lines) else ""
        numbers = ", ".join(f"{line:,}" for line in tally.dropped_lines) + more
        lines.append(f"Opt-outs stored without some cells: {tally.dropped:,} (lines {numbers}).")
    if failures and path is not None:
        rows = "failed rows" if not tally.dropped else "failed rows and the rows of these opt-outs"
        update = ", and --on-conflict update" if tally.dropped else ""
        lines.append(
            f"The {rows} are listed in {failures.label}. Correct them, and import the file with the"
            f" same options{update}."
        )
    echo("\n".join(lines), err=err)


def _reason_line(count: Mapping[str, Any]) -> str:
    total, lines = count["total"], ", ".join(count["examples"])
    more = ", ..." if total > len(count["examples"]) else ""
    return f"  {total:,} {count['reason']}: {'line' if total == 1 else 'lines'} {lines}{more}"
