"""roster import: rows of a file to a running service, and what became of them."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from ...console import ExitCode, console, counted, errors, say
from ...output_file import STANDARD
from ..output import Json, print_json
from .errors import TransferError
from .files import Form, form_by_ending
from .flags import LOCAL, Key, Url
from .import_counts import OnConflict

if TYPE_CHECKING:
    from .import_run import Run


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file, packed or not; - is stdin.")
    ],
    url: Url = LOCAL,
    api_key: Key = "",
    on_conflict: Annotated[
        OnConflict,
        typer.Option(
            case_sensitive=False,
            help="What becomes of a row whose address is taken. Never its status.",
        ),
    ] = OnConflict.FAIL,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            case_sensitive=False,
            help="By the file's ending or its first character if it is not given.",
        ),
    ] = None,
    failures: Annotated[
        str,
        typer.Option(
            metavar="FILE.csv",
            help="Where rows that fail are listed; - is standard output. Default:"
            " FILE.failures.csv, and nowhere for standard input or a FIFO.",
        ),
    ] = "",
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Start over, even if the last run broke off.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring subscribers from a CSV or NDJSON file into a running service.

    A file that is packed with gzip or Zstandard is unpacked, whatever its name. A file of
    rows that failed is replaced when the import is complete, and only if a row failed.
    Run it again when it breaks off: it goes on where it was, as long as
    the file is the same. Ends with 0 if no row failed, 1 if rows failed,
    2 if an argument is wrong, 6 if the service cannot be reached, 7 if
    it refuses, 8 if the import broke off and 130 if it was interrupted.
    """
    if failures and failures != STANDARD and os.path.realpath(failures) == os.path.realpath(file):
        raise TransferError(f"{file} cannot be both read and written.", ExitCode.USAGE)
    # Imported here, since other commands do not need what speaks HTTP.
    from .import_failures import Failures
    from .import_run import Options, Run
    from .import_source import Source
    from .service_client import Remote

    remote = Remote(url, api_key)
    with closing(Source(file)) as source:
        if source.can_resume:
            failures = failures or f"{file}.failures.csv"
        listed = Failures(failures) if failures else None
        form = form or form_by_ending(file)
        run = Run(remote, source, Options(on_conflict, form, listed, resume=not no_resume))
        _run(run)
    _print(run, as_json=json)
    if run.unlisted:
        say(f"All rows were sent, but those that failed cannot be listed: {run.unlisted}")
    if run.tally.failed:
        raise SystemExit(ExitCode.ROWS_FAILED)


def _run(run: Run) -> None:
    """Runs an import. Raises TransferError, which says how to go on, if it ends early."""
    try:
        uvloop.run(run.run())
    except KeyboardInterrupt:
        error = TransferError("Interrupted.", ExitCode.INTERRUPTED)
    except TransferError as failed:
        error = failed
    except OSError as failed:
        error = TransferError(f"A file cannot be written: {failed.strerror}.", ExitCode.BROKEN)
    else:
        return
    raise error.with_hint(run.hint(error.ending))


def _print(run: Run, *, as_json: bool) -> None:
    """Prints what became of the rows: on standard error if failures went to standard output."""
    tally, listed = run.tally, run.failures
    path = listed.name if listed and tally.failed and not run.unlisted else None
    target = errors if listed and listed.is_standard_output else console
    counts = {outcome.lower(): number for outcome, number in tally.counts.items()}
    if as_json:
        print_json(
            {
                **counts,
                "reasons": tally.reasons,
                "failures": path,
                "resumedAfterLine": run.resumed_after,
            },
            target,
        )
        return
    words = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
    lines = [f"{counted(tally.rows, 'row')}: {words}."]
    lines += [f"  {number:,} {reason}" for reason, number in sorted(tally.reasons.items())]
    if path is not None:
        lines.append(f"The rows that failed are listed in {path}.")
    target.print("\n".join(lines), markup=False, soft_wrap=True)
