"""roster restore"""

from __future__ import annotations

import signal
from pathlib import Path

import click

from ..config import Settings
from ..serving.console import CommandError, ExitCode, echo
from ..serving.secret_key import check_secret_key, has_backup_key, key_file
from ..storage.backups import restore as backups
from ..storage.backups.atomic_file import BackupWriteError
from ..storage.backups.restore import Restored
from ..storage.database import StorageError
from ..values.database_url import PostgresUrl
from .common.endings import interruptible
from .common.options import database_url_option, json_option, secret_key_option
from .common.output import print_json
from .common.progress import ByteProgress


@click.command()
@click.argument("file", type=click.Path(path_type=Path), help="A backup or another database.")
@database_url_option
@secret_key_option
@json_option
def restore(file: Path, database_url: str, secret_key: str, json: bool) -> None:
    """Replace a SQLite database with a backup. The previous database is kept under another name.

    Stop the service first. FILE is verified before anything is changed, and so is the secret key
    if it is set or in the file next to the database. Exit codes: 2 if FILE is invalid, 4 if the
    backup or the database cannot be used, 5 if FILE does not exist, 8 if writing failed, and 130 if
    the command was interrupted; the database is then unchanged.
    """
    database = Settings.database_url.parse(database_url)
    check_secret_key(secret_key)
    if isinstance(database, PostgresUrl):
        raise StorageError(f"Use pg_restore to restore {database}.")
    if not file.is_file():
        raise CommandError(f"The file {file} does not exist.", ExitCode.NOT_FOUND)
    if database.exists() and file.samefile(database):
        raise CommandError(f"{file} is the database itself.", ExitCode.USAGE)
    has_key = True

    def accept(fingerprints: list[str]) -> None:
        nonlocal has_key
        has_key = has_backup_key(secret_key, database, fingerprints)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with (
            interruptible(f"Interrupted. {database} was not changed."),
            ByteProgress() as progress,
        ):
            result = backups.restore(file, database, accept, progress.show)
    except BackupWriteError as error:
        raise CommandError(str(error), ExitCode.INCOMPLETE) from error
    if json:
        kept = None if result.kept is None else str(result.kept)
        print_json(
            {"database": str(database), "bytes": result.size, "kept": kept, "hasKey": has_key}
        )
        return
    echo("\n\n".join(_report(file, database, result, has_key=has_key)))


def _report(file: Path, database: Path, result: Restored, *, has_key: bool) -> list[str]:
    """Returns what was restored, how to undo it, and what remains to be done."""
    report = [
        f"Restored {database} from {file}: {result.size:,} bytes, verified. Later changes are lost:"
        " subscribers who have unsubscribed since the backup are subscribed again, and API keys"
        " that have been revoked since are valid again."
    ]
    if result.kept is not None and result.kept_is_whole:
        report.append(f"To undo this, run: roster restore {result.kept}")
    elif result.kept is not None:
        report.append(f"The previous database could not be read. It is kept as {result.kept}.")
    if not has_key:
        report.append(
            f"The database requires the secret key with which it was created. Store the key in"
            f" {key_file(database)}, or set {Settings.secret_key.environment}."
        )
    return report
