"""roster backup"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..clock import written
from ..config import SETTINGS, PostgresUrl, parse_database_url
from ..console import ExitCode, complain, console, errors
from ..output_file import replaceable, standard_stream
from ..serving.secret_key import key_file
from ..storage.backups.atomic_file import BackupWriteError
from ..storage.backups.create import Backup, back_up, stream_backup
from ..storage.database import StorageError
from ..storage.sqlite.file import check_exists
from .byte_progress import BytesBar
from .output import DatabaseUrl, Json, print_json


def backup(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write; - is standard output.")
    ],
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write FILE even if there is one by now.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a whole and checked copy of a SQLite database to FILE, whether it is served or not.

    FILE is there when all of it is on the disk; until then it is FILE.part. If FILE is a device
    or a FIFO, the copy is made and checked in a temporary folder, and then written to it. The
    secret key is not in it. Ends with 0 if it is written, 2 if FILE cannot be, 4 if the
    database cannot be used, 8 if writing broke off, and 130 if it was interrupted; then nothing
    is left of it.
    """
    place = parse_database_url(database_url)
    if isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is backed up with PostgreSQL's own programs: pg_dump, or pg_basebackup."
        )
    check_exists(place)
    target = _target(file, place, replace=replace)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with BytesBar() as bar:
            if target is None:
                made = stream_backup(place, file, bar.show)
            else:
                made = back_up(place, target, bar.show)
    except BackupWriteError as error:
        complain(str(error), ExitCode.BROKEN)
    except KeyboardInterrupt:
        complain(f"Interrupted. {file} was not written.", ExitCode.INTERRUPTED)
    _report(made, file, place, json=json)


def _target(name: str, database: Path, *, replace: bool) -> Path | None:
    """Returns the file to write, and None if the name is opened and not replaced.

    Ends the program if the file is not to be written.
    """
    try:
        file = replaceable(name)
    except OSError as error:
        complain(f"{name} cannot be written: {error.strerror}.", ExitCode.USAGE)
    # What other than a regular file could lose its content is a disk.
    has_content = Path(name).is_block_device() if file is None else file.exists()
    if has_content and not replace:
        complain(f"{name} is there already. --replace writes it anew.", ExitCode.USAGE)
    if file is None:
        return None
    if not file.parent.is_dir():
        complain(f"There is no folder {file.parent}.", ExitCode.USAGE)
    real = database.resolve()
    if file.parent == real.parent and file.name.startswith(real.name):
        complain(f"{name} has a name that belongs to the database {database}.", ExitCode.USAGE)
    return file


def _report(made: Backup, name: str, database: Path, *, json: bool) -> None:
    """Says what was written: on standard error if the backup went to standard output."""
    target = errors if standard_stream(name) is sys.stdout else console
    if json:
        print_json(
            {
                "file": name,
                "bytes": made.size,
                "takenAt": written(made.created_at),
                "keyFingerprint": made.key_fingerprint,
            },
            target,
        )
        return
    told = f"{name} is {database} as it was at {written(made.created_at)}: {made.size:,} bytes."
    if made.key_fingerprint is not None:
        told += (
            "\n\nThe secret key is not in it, and without that key it is not served. Keep it too,"
            f" elsewhere: it is in {key_file(database)}, unless"
            f" {SETTINGS['secret_key'].environment} is set."
        )
    target.print(told, markup=False, soft_wrap=True)
