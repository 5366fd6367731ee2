"""roster backup"""

from __future__ import annotations

import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from ..config import BACK_UP_POSTGRES, Settings
from ..maintenance.restore_drill import rehearse_restore
from ..serving.console import CommandError, ExitCode, echo, pluralized
from ..serving.secret_key import check_secret_key, has_backup_key, key_file
from ..storage.backups.atomic_file import BackupWriteError
from ..storage.backups.create import Backup, back_up, stream_backup
from ..storage.backups.retention import BackupFolder
from ..storage.database import StorageError
from ..storage.output_file import replaceable, standard_stream
from ..storage.sqlite.file import check_exists
from ..values.clock import iso8601
from ..values.database_url import PostgresUrl
from .check import as_json, lines
from .common.endings import interruptible, writing
from .common.options import database_url_option, json_option, option, secret_key_option
from .common.output import print_json
from .common.progress import ByteProgress


@click.command()
@click.argument("file", default="", help="File to write; - is standard output.")
@database_url_option
@click.option("--replace", is_flag=True, help="Overwrite FILE if it exists.")
@click.option(
    "--verify",
    is_flag=True,
    help="Restore FILE to a temporary folder and check it, instead of creating a backup."
    " Default: the newest backup in the backup folder.",
)
@option(Settings.backup_folder, "")
@secret_key_option
@json_option
def backup(
    file: str,
    database_url: str,
    replace: bool,
    verify: bool,
    backup_folder: str,
    secret_key: str,
    json: bool,
) -> None:
    """Back up a SQLite database to FILE, also while it is served.

    The backup is verified, and is named FILE.part until it is complete and on disk. For a device
    or a FIFO, the backup is created and verified in a temporary folder and then copied. The secret
    key is not included. With --verify, a backup is restored to a temporary folder (TMPDIR) and
    checked as by `roster check`. Exit codes: 1 if the check finds differences, 2 if FILE cannot be
    written, 4 if the database or the backup cannot be used, 5 if there is no backup to verify, 8 if
    writing failed, and 130 if the command was interrupted; no partial backup remains.
    """
    database = Settings.database_url.parse(database_url)
    if isinstance(database, PostgresUrl):
        raise StorageError(BACK_UP_POSTGRES.format(database))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if verify:
        check_secret_key(secret_key)
        backup, created_at = _existing(file) if file else _newest(backup_folder, database)
        _verify(backup, created_at, database, secret_key, json=json)
        return
    if not file:
        raise CommandError("FILE is missing: the file to write.", ExitCode.USAGE)
    check_exists(database)
    target = _target(file, database, replace=replace)
    try:
        with interruptible(f"Interrupted. {file} was not written."), ByteProgress() as progress:
            if target is None:
                result = stream_backup(database, file, progress.show)
            else:
                result = back_up(database, target, progress.show)
    except BackupWriteError as error:
        raise CommandError(str(error), ExitCode.INCOMPLETE) from error
    _report(result, file, database, json=json)


def _existing(name: str) -> tuple[Path, datetime]:
    """Returns a backup and when it was written. Raises CommandError if there is none."""
    file = Path(name)
    if not file.is_file():
        raise CommandError(f"The file {file} does not exist.", ExitCode.NOT_FOUND)
    return file, datetime.fromtimestamp(file.stat().st_mtime, UTC)


def _newest(folder: str, database: Path) -> tuple[Path, datetime]:
    """Returns the newest backup of a database and its time. Raises CommandError if none exists."""
    setting = Settings.backup_folder
    path = setting.parse(folder) if folder else None
    if path is None:
        text = f"Name a backup to verify, or its folder with {setting.flag}."
        raise CommandError(text, ExitCode.USAGE)
    try:
        backups = BackupFolder(path, database).all()
    except OSError as error:
        raise StorageError(f"{folder} cannot be read: {error.strerror}.") from error
    if not backups:
        raise CommandError(f"{folder} contains no backup of {database.name}.", ExitCode.NOT_FOUND)
    newest = max(backups)
    return backups[newest], newest


def _verify(
    backup: Path, created_at: datetime, database: Path, secret_key: str, *, json: bool
) -> None:
    """Restores and checks a backup, and prints the result. Ends the command if it has errors."""
    began = time.monotonic()
    with interruptible("Interrupted."), ByteProgress() as progress:
        drill = rehearse_restore(backup, progress.show)
    report, has_key = drill.report, has_backup_key(secret_key, database, drill.key_fingerprints)
    seconds, age = time.monotonic() - began, round((datetime.now(UTC) - created_at).total_seconds())
    if json:
        counts = {"ageSeconds": age, "bytes": drill.size, "rows": drill.rows}
        end = {"hasKey": has_key, "seconds": round(seconds, 3)}
        print_json({"file": str(backup), **counts, **as_json(report), **end})
    else:
        summary = (
            f"Restored {backup} to a temporary folder: {timedelta(seconds=age)} old,"
            f" {drill.size:,} bytes, {pluralized(drill.rows, 'row')}, {seconds:.1f} s,"
            f" {pluralized(report.errors, 'difference')}."
            f"{'' if has_key else ' Its secret key is not available here.'}"
        )
        echo("\n".join([*lines(report), summary]))
    if report.errors:
        raise SystemExit(ExitCode.DIFFERENCES)


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
    err = standard_stream(name) is sys.stdout
    timestamp = iso8601(backup.created_at)
    if json:
        print_json(
            {
                "file": name,
                "bytes": backup.size,
                "createdAt": timestamp,
                "keyFingerprint": backup.key_fingerprint,
            },
            err=err,
        )
        return
    message = f"Backed up {database} as of {timestamp} to {name}: {backup.size:,} bytes."
    if backup.key_fingerprint is not None:
        message += (
            "\n\nThe backup does not contain the secret key, which is required to serve it. Back up"
            f" the key too, in another place. It is in {key_file(database)}, unless"
            f" {Settings.secret_key.environment} is set."
        )
    echo(message, err=err)
