"""roster secret-key"""

from __future__ import annotations

from functools import partial

import click

from ..config import FILE, NEW_SECRET_KEY, Settings
from ..security.encryption import make_key
from ..serving.console import CommandError, ExitCode, echo
from ..serving.key_rotation import begin_rotation, finish_rotation, rotate_file
from ..serving.secret_key import check_secret_key, file_of
from ..storage.databases import unit_of_work
from .common.options import database_url_option, json_option, secret_key_option
from .common.output import print_json

_SETTING = Settings.secret_key.environment
_FINISHED = "Only this key opens the database now. Backups from before require the previous key"
_NEXT = (
    f"Both keys open the database now. Set {_SETTING}, or the content of the file in"
    f" {_SETTING}{FILE}, to the new key for every process, and restart the processes one by one."
    " Then run, with the new key: roster secret-key rotate --finish"
)
_LINKS = " Links that unsubscribe remain valid; earlier links that confirm do not."


@click.group()
def app() -> None:
    """Rotate the secret key."""


@app.command()
@database_url_option
@secret_key_option
@click.option(
    "--new-secret-key",
    default="",
    envvar=NEW_SECRET_KEY,
    show_envvar=True,
    help="The new key: 32 bytes in base64. Default: a random key. Other users of this"
    " machine can see flags, but not the environment."
    f" {NEW_SECRET_KEY}{FILE} names a file that contains it.",
)
@click.option(
    "--new-link-key",
    is_flag=True,
    help="Also create a new key for links, which running services use within 40 seconds"
    " after the rotation. Links that unsubscribe remain valid; earlier links that confirm"
    " do not.",
)
@click.option("--finish", is_flag=True, help="Let only the key that is set open the database.")
@json_option
def rotate(
    database_url: str,
    secret_key: str,
    new_secret_key: str,
    new_link_key: bool,
    finish: bool,
    json: bool,
) -> None:
    """Replace the secret key, which encrypts the data keys in the database. Services may run.

    Only the data keys are encrypted again; they remain the same. A key in the file next to a SQLite
    database is replaced at once, and the previous one is kept in another file.

    If the key is set as ROSTER_SECRET_KEY, both keys open the database at first. The new one is
    printed. Set it for all processes, restart them one by one, and set it for this command with
    --finish, after which the previous key does not open the database anymore.

    Exit code: 4 if the database cannot be used or the secret key is wrong; nothing is then changed.
    """
    location = Settings.database_url.parse(database_url)
    check_secret_key(secret_key)
    new = check_secret_key(new_secret_key, NEW_SECRET_KEY) or make_key()
    begin = partial(unit_of_work, database_url, must_exist=True)
    if finish:
        if new_secret_key or new_link_key:
            raise CommandError("--finish takes no new key.", ExitCode.USAGE)
        is_done = finish_rotation(secret_key, location, begin)
        text = f"{_FINISHED}." if is_done else "No rotation is unfinished."
        _print(text, json=json, isFinished=True)
    elif file := file_of(secret_key, location):
        kept = rotate_file(file, location, new, begin, new_link_key=new_link_key)
        text = (
            f"Replaced the secret key in {file}. Back up this file. {_FINISHED}. It is kept in"
            f" {kept}: move it to another place.{_LINKS if new_link_key else ''}"
        )
        _print(text, json=json, isFinished=True, previousKeyFile=str(kept))
    else:
        begin_rotation(secret_key, location, new, begin, new_link_key=new_link_key)
        shown = None if new_secret_key else new
        text = f"new secret key  {shown}\n\nThe key is not shown again. " if shown else ""
        _print(f"{text}{_NEXT}", json=json, isFinished=False, secretKey=shown)


def _print(text: str, *, json: bool, **values: object) -> None:
    if json:
        print_json(values)
    else:
        echo(text)
