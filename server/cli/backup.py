"""roster backup"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..config import BACK_UP_POSTGRES, Settings
from ..serving.console import CommandError, ExitCode, console, errors
from ..serving.secret_key import key_file
from ..storage.backups.atomic_file import BackupWriteError
from ..storage.backups.create import Backup, back_up, stream_backup
from ..storage.database import StorageError
from ..storage.output_file import replaceable, standard_stream
from ..storage.sqlite.file import check_exists
from ..values.clock import iso8601
from ..values.database_url import PostgresUrl
from .common.endings import interruptible, writing
from .common.options import DEFAULT_DATABASE_URL, DatabaseUrl, Json
from .common.output import print_json
from .common.progress import ByteProgress


def backup(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="File to write; - is standard output.")
    ],
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite FILE if it exists.")
    ] = False,
    json: Json = False,
) -> None:
    """Back up a SQLite database to FILE, also while it is served.

    The backup is verified, and is named FILE.part until it is complete and on disk. For a device
    or a FIFO, the backup is created and verified in a temporary folder and then copied. The secret
    key is not included. Exit codes: 2 if FILE cannot be written, 4 if the database cannot be used,
    8 if writing failed, and 130 if the command was interrupted; no partial backup remains.
    """
    database = Settings.database_url.parse(database_url)
    if isinstance(database, PostgresUrl):
        raise StorageError(BACK_UP_POSTGRES.format(database))
    check_exists(database)
    target = _target(file, database, replace=replace)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with interruptible(f"Interrupted. {file} was not written."), ByteProgress() as progress:
            if target is None:
                result = stream_backup(database, file, progress.show)
            else:
                result = back_up(database, target, progress.show)
    except BackupWriteError as error:
        raise CommandError(str(error), ExitCode.INCOMPLETE) from error
    _report(result, file, database, json=json)


def _target(name: str, database: Path, *, replace: bool) -> Path | None:
    """Returns the file to replace, or None if the name must be opened and written instead.

    Raises CommandError if the file must not be written.
    """
    with writing(name, ExitCode.USAGE):
        file = replaceable(name)
    # Writing to a device or a FIFO loses no content, unless it is a disk.
    has_content = Path(name).is_block_device() if file is None else file.exists()
    if has_content and not replace:
        raise CommandError(f"{name} already exists. Use --replace to overwrite it.", ExitCode.USAGE)
    if file is None:
        return None
    if not file.parent.is_dir():
        raise CommandError(f"The folder {file.parent} does not exist.", ExitCode.USAGE)
    real = database.resolve()
    if file.parent == real.parent and file.name.startswith(real.name):
        raise CommandError(
            f"{name} is reserved for files of the database {database}. Choose another name.",
            ExitCode.USAGE,
        )
    return file


def _report(backup: Backup, name: str, database: Path, *, json: bool) -> None:
    """Prints the result, to standard error if the backup went to standard output."""
    target = errors if standard_stream(name) is sys.stdout else console
    timestamp = iso8601(backup.created_at)
    if json:
        print_json(
            {
                "file": name,
                "bytes": backup.size,
                "takenAt": timestamp,
                "keyFingerprint": backup.key_fingerprint,
            },
            target,
        )
        return
    message = f"Backed up {database} as of {timestamp} to {name}: {backup.size:,} bytes."
    if backup.key_fingerprint is not None:
        message += (
            "\n\nThe backup does not contain the secret key, which is required to serve it. Back up"
            f" the key too, in another place. It is in {key_file(database)}, unless"
            f" {Settings.secret_key.environment} is set."
        )
    target.print(message, markup=False, soft_wrap=True)
