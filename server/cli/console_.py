"""roster console"""

from __future__ import annotations

import re

import click

from ..config import URL, Settings
from ..features.accounts.rules import MAX_NAME_LENGTH, hash_secret
from ..features.audit.store import record_command
from ..features.sessions import store
from ..features.sessions.rules import MAX_LINK_TIME, SCOPES, make_token, sign_in_url
from ..serving.console import CommandError, ExitCode, echo
from ..storage.databases import unit_of_work
from ..values.clock import iso8601
from ..values.texts import has_control_characters, trim
from .common.accounts import account_id_of, account_option
from .common.options import LOCAL_URL, Choice, database_url_option, json_option
from .common.output import print_json

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@click.group()
def app() -> None:
    """Sign people in to the console."""


@app.command()
@account_option
@click.option(
    "--scope",
    type=Choice(SCOPES),
    default="admin",
    show_default=True,
    help="What the session permits.",
)
@click.option(
    "--name",
    default="roster console link",
    show_default=True,
    help="Name of the session, such as that of the person.",
)
@click.option(
    "--expires",
    default="10m",
    show_default=True,
    metavar="TIME",
    help="How long the link works, such as 30s, 10m, 2h or 7d.",
)
@click.option(
    "--url",
    default=LOCAL_URL,
    show_default=True,
    metavar="URL",
    envvar=[Settings.public_url.environment, URL],
    show_envvar=True,
    help="URL under which people reach the service.",
)
@database_url_option
@json_option
def link(
    account: str, scope: str, name: str, expires: str, url: str, database_url: str, json: bool
) -> None:
    """Print a link that signs a person in once, with a browser.

    Writes to the database, so it needs no API key, and works while the service runs.
    """
    name, time = trim(name), _milliseconds(expires)
    if not 0 < len(name) <= MAX_NAME_LENGTH or has_control_characters(name):
        raise CommandError(
            f"The name of a session must have 1 to {MAX_NAME_LENGTH} characters and no control"
            " characters.",
            ExitCode.USAGE,
        )
    with unit_of_work(database_url, must_exist=True) as tx:
        account = account_id_of(account, tx)
        token = make_token(account)
        row = store.create_link(account, name, scope, hash_secret(token), time, tx)
        record_command(account, "sign_in_link.created", tx, after=row.as_json())
    sign_in = sign_in_url(url.rstrip("/"), token)
    if json:
        print_json({"signInLink": row.as_json(), "url": sign_in})
    else:
        # A link to a port on which the service does not listen would be opened in vain.
        hint = " If the service has another URL, set --url." if url == LOCAL_URL else ""
        echo(f"{sign_in}\n\nIt works once, until {iso8601(row.expires_at)}.{hint}")


def _milliseconds(text: str) -> int:
    """Returns a time such as 10m in milliseconds. Raises CommandError."""
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", text)
    time = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < time <= MAX_LINK_TIME:
        raise CommandError(
            f"--expires must be a time of at most 7d, such as 30s, 10m, 2h or 7d, not {text!r}.",
            ExitCode.USAGE,
        )
    return time
