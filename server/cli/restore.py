"""roster restore"""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from ..config import SETTINGS, PostgresUrl, check_secret_key, parse_database_url
from ..console import ExitCode, complain, console
from ..serving.secret_key import is_at_hand, key_file
from ..storage.backups.atomic_file import BackupWriteError
from ..storage.backups.restore import Restored
from ..storage.backups.restore import restore as put_back
from ..storage.database import StorageError
from .byte_progress import BytesBar
from .output import DatabaseUrl, Json, print_json
from .serve_flags import SecretKey


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup, or any database.")],
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    secret_key: SecretKey = "",
    json: Json = False,
) -> None:
    """Make a SQLite database what a backup holds; what was there is kept under another name.

    A service on it has to be stopped first. FILE is checked before anything is changed, and
    so is the secret key, where it is set or in a file beside the database. Ends with 0 if it
    is done, 2 if FILE is wrong, 4 if the backup or the database cannot be used, 8 if writing
    broke off, and 130 if it was interrupted; then the database is what it was.
    """
    place = parse_database_url(database_url)
    check_secret_key(secret_key)
    if isinstance(place, PostgresUrl):
        raise StorageError(f"{place} is restored with PostgreSQL's own programs: pg_restore.")
    if not file.is_file():
        complain(f"There is no file {file}.", ExitCode.USAGE)
    if place.exists() and file.samefile(place):
        complain(f"{file} is the database itself.", ExitCode.USAGE)
    lacks_key = False

    def accept(known: str | None) -> None:
        nonlocal lacks_key
        lacks_key = known is not None and not is_at_hand(secret_key, place, known)

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with BytesBar() as bar:
            done = put_back(file, place, accept, bar.show)
    except BackupWriteError as error:
        complain(str(error), ExitCode.BROKEN)
    except KeyboardInterrupt:
        complain(f"Interrupted. {place} is what it was.", ExitCode.INTERRUPTED)
    if json:
        kept = None if done.kept is None else str(done.kept)
        print_json(
            {"database": str(place), "bytes": done.size, "kept": kept, "keyIsAtHand": not lacks_key}
        )
        return
    console.print("\n\n".join(_told(file, place, done, lacks_key=lacks_key)), soft_wrap=True)


def _told(file: Path, database: Path, done: Restored, *, lacks_key: bool) -> list[str]:
    """Returns what was done, how to go back, and what is to be done yet."""
    told = [
        f"{database} is what {file} holds: {done.size:,} bytes, checked. What was written since the"
        " backup is not in it: who unsubscribed since is subscribed, and a key that was revoked"
        " since is taken."
    ]
    if done.kept is not None and done.kept_is_whole:
        told.append(f"What was there is kept. To go back to it: roster restore {done.kept}")
    elif done.kept is not None:
        told.append(f"What was there could not be read, and is kept as it was in {done.kept}.")
    if lacks_key:
        told.append(
            f"It is served with the secret key that it was written with alone. That is not in"
            f" {key_file(database)}: put it there, or set {SETTINGS['secret_key'].environment}."
        )
    return told
