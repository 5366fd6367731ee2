"""roster import: rows of a file to a running service, and what became of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import uvloop

from ..output import ExitCode, Json, console, counted, print_json
from .failing import TransferError
from .files import STANDARD, Form, form_by_ending
from .flags import LOCAL, Key, Url
from .import_tally import OnConflict

if TYPE_CHECKING:
    from .import_run import Run


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file, packed if it ends in .gz; - is stdin.")
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
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Where rows that fail are listed: FILE.failures.csv if it is not given, and"
            " nowhere for standard input.",
        ),
    ] = None,
    no_resume: Annotated[
        bool, typer.Option("--no-resume", help="Start over, even if the last run broke off.")
    ] = False,
    json: Json = False,
) -> None:
    """Bring subscribers from a CSV or NDJSON file into a running service.

    Run it again when it breaks off: it goes on where it was, as long as
    the file is the same. Ends with 0 if no row failed, 1 if rows failed,
    2 if an argument is wrong, 6 if the service cannot be reached, 7 if
    it refuses, 8 if the import broke off and 130 if it was interrupted.
    """
    if failures is None and file != STANDARD:
        failures = Path(f"{file}.failures.csv")
    if failures is not None and failures.resolve() == Path(file).resolve():
        raise TransferError(f"{file} cannot be both read and written.", ExitCode.USAGE)
    # Imported here, since other commands do not need what speaks HTTP.
    from .import_run import Options, Run
    from .import_source import Source
    from .remote import Remote

    options = Options(on_conflict, form or form_by_ending(file), failures, resume=not no_resume)
    remote = Remote(url, api_key)
    with closing(Source(file)) as source:
        run = Run(remote, source, options)
        _run(run)
    _print(run, as_json=json)
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
    """Prints what became of the rows."""
    tally, path = run.tally, run.failures.path if run.failures and run.tally.failed else None
    counts = {outcome.lower(): number for outcome, number in tally.counts.items()}
    if as_json:
        print_json(
            {
                **counts,
                "reasons": tally.reasons,
                "failures": None if path is None else str(path),
                "resumedAfterLine": run.resumed_after,
            }
        )
        return
    words = ", ".join(f"{number:,} {outcome}" for outcome, number in counts.items())
    lines = [f"{counted(tally.rows, 'row')}: {words}."]
    lines += [f"  {number:,} {reason}" for reason, number in sorted(tally.reasons.items())]
    if path is not None:
        lines.append(f"The rows that failed are listed in {path}.")
    console.print("\n".join(lines), soft_wrap=True)
