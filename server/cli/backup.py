"""roster backup"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from ..clock import written
from ..config import SETTINGS, PostgresUrl, parse_database_url
from ..storage.backups.making import Made, back_up
from ..storage.backups.part import BrokenOff
from ..storage.database import StorageError
from ..storage.sqlite_file import check_exists
from .bytes_bar import BytesBar
from .output import DatabaseUrl, ExitCode, Json, complain, console, print_json
from .secret_key import key_file


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write FILE even if there is one by now.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a whole and checked copy of a SQLite database to FILE, whether it is served or not.

    FILE is there when all of it is on the disk; until then it is FILE.part. The secret key
    is not in it. Ends with 0 if it is written, 2 if FILE cannot be, 4 if the database cannot be
    used, 8 if writing broke off, and 130 if it was interrupted; then nothing is left of it.
    """
    place = parse_database_url(database_url)
    if isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is backed up with PostgreSQL's own programs: pg_dump, or pg_basebackup."
        )
    check_exists(place)
    _refuse(file, place, replace=replace)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with BytesBar() as bar:
            made = back_up(place, file, bar.show)
    except BrokenOff as error:
        complain(str(error), ExitCode.BROKEN)
    except KeyboardInterrupt:
        complain(f"Interrupted. {file} was not written.", ExitCode.INTERRUPTED)
    _report(made, place, json=json)


def _refuse(file: Path, database: Path, *, replace: bool) -> None:
    """Ends the program if the file is not to be written."""
    if not file.parent.is_dir():
        complain(f"There is no folder {file.parent}.", ExitCode.USAGE)
    if file.is_dir():
        complain(f"{file} is a folder.", ExitCode.USAGE)
    if file.resolve().parent == database.resolve().parent and file.name.startswith(database.name):
        complain(f"{file} has a name that belongs to the database {database}.", ExitCode.USAGE)
    if file.exists() and not replace:
        complain(f"{file} is there already. --replace writes it anew.", ExitCode.USAGE)


def _report(made: Made, database: Path, *, json: bool) -> None:
    if json:
        print_json(
            {
                "file": str(made.file),
                "bytes": made.size,
                "takenAt": written(made.moment),
                "keyFingerprint": made.key_fingerprint,
            }
        )
        return
    told = f"{made.file} is {database} as it was at {written(made.moment)}: {made.size:,} bytes."
    if made.key_fingerprint is not None:
        told += (
            "\n\nThe secret key is not in it, and without that key it is not served. Keep it too,"
            f" elsewhere: it is in {key_file(database)}, unless"
            f" {SETTINGS['secret_key'].environment} is set."
        )
    console.print(told, soft_wrap=True)
