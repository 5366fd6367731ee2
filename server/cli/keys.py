"""roster keys"""

from __future__ import annotations

import click

from ..features.accounts import store_keys
from ..features.accounts.rules import (
    MAX_GRACE_SECONDS,
    MAX_NAME_LENGTH,
    SCOPES,
    hash_secret,
    make_secret,
)
from ..features.accounts.store_keys import ApiKeyRow
from ..features.audit.store import record_command
from ..rpc.errors import ApiKeyExpired
from ..serving.console import CommandError, ExitCode, echo
from ..storage.databases import reading, unit_of_work
from ..storage.transaction import Transaction
from ..values.clock import iso8601
from ..values.texts import has_control_characters, trim
from .common.accounts import account_id_of, account_option
from .common.options import Choice, database_url_option, json_option
from .common.output import print_json, print_json_list, print_table

_key_id_argument = click.argument("key_id", metavar="ID", help="ID of the key, not its secret.")


@click.group()
def app() -> None:
    """Create, list, rotate and revoke API keys."""


@app.command()
@click.option("--scope", type=Choice(SCOPES), required=True, help="What the key permits.")
@account_option
@click.option("--name", default="roster keys create", show_default=True, help="Name of the key.")
@database_url_option
@json_option
def create(scope: str, account: str, name: str, database_url: str, json: bool) -> None:
    """Create an API key. It is printed once and cannot be shown again."""
    name = trim(name)
    if not 0 < len(name) <= MAX_NAME_LENGTH or has_control_characters(name):
        raise CommandError(
            f"The name of a key must have 1 to {MAX_NAME_LENGTH} characters and no control"
            " characters.",
            ExitCode.USAGE,
        )
    secret = make_secret()
    with unit_of_work(database_url, must_exist=True) as tx:
        account = account_id_of(account, tx)
        row = store_keys.create_key(account, name, scope, hash_secret(secret), tx)
        record_command(account, "api_key.created", tx, after=row.as_json())
    _print_secret(row, secret, json=json)


def _print_secret(row: ApiKeyRow, secret: str, *, json: bool) -> None:
    if json:
        print_json({"apiKey": row.as_json(), "secret": secret})
    else:
        echo(f"id       {row.id}\nAPI key  {secret}\n\nThe key is not shown again.")
        if row.previous_expires_at is not None:
            echo(f"The previous secret works until {iso8601(row.previous_expires_at)}.")


@app.command(name="list")
@click.option(
    "--account", default="", metavar="ID", help="ID of an account. Default: all accounts."
)
@database_url_option
@json_option
def list_(account: str, database_url: str, json: bool) -> None:
    """List the API keys of all accounts, oldest first in each account."""
    with reading(database_url) as tx:
        if account:
            account_id_of(account, tx)
        found = store_keys.keys_of_any_account(tx)
    rows = [(id_, row) for id_, row in found if account in ("", id_)]
    if json:
        print_json_list("apiKeys", [{"accountId": id_, **row.as_json()} for id_, row in rows])
        return
    print_table(
        ("account", "id", "scope", "name", "created", "created by", "last used", "expires"),
        [
            (
                id_,
                row.id,
                row.scope,
                row.name,
                iso8601(row.created_at),
                _creator(row),
                iso8601(row.last_used_at)[:10] if row.last_used_at is not None else "never",
                iso8601(row.expires_at) if row.expires_at is not None else "",
            )
            for id_, row in rows
        ],
    )


def _creator(row: ApiKeyRow) -> str:
    if row.created_by is None:
        return ""
    return f"{row.created_by} {row.created_by_name}" if row.created_by else "command line"


@app.command()
@_key_id_argument
@click.option(
    "--grace",
    type=click.IntRange(min=0, max=MAX_GRACE_SECONDS),
    default=0,
    show_default=True,
    metavar="SECONDS",
    help="How long the previous secret also works: at most 7 days.",
)
@database_url_option
@json_option
def rotate(key_id: str, grace: int, database_url: str, json: bool) -> None:
    """Give an API key a new secret, which is printed once.

    The previous secret works for --grace seconds. Then a running service accepts it for up to 5
    seconds.
    """
    secret = make_secret()
    try:
        with unit_of_work(database_url, must_exist=True) as tx:
            account = _account_of(key_id, tx)
            before, secret_hash = store_keys.find_key(account, key_id, tx), hash_secret(secret)
            row = store_keys.rotate_key(account, key_id, secret_hash, tx, grace_seconds=grace)
            states = {"before": before.as_json(), "after": row.as_json()}
            record_command(account, "api_key.rotated", tx, **states)
    except ApiKeyExpired as error:
        raise CommandError(str(error), ExitCode.USAGE) from error
    _print_secret(row, secret, json=json)


@app.command()
@_key_id_argument
@database_url_option
@json_option
def revoke(key_id: str, database_url: str, json: bool) -> None:
    """Revoke an API key. Takes effect in a running service within 5 seconds."""
    with unit_of_work(database_url, must_exist=True) as tx:
        account = _account_of(key_id, tx)
        row = store_keys.find_key(account, key_id, tx)
        store_keys.revoke_key(account, key_id, tx)
        record_command(account, "api_key.revoked", tx, before=row.as_json())
    if json:
        print_json({"apiKey": row.as_json()})
    else:
        echo(f"Revoked API key {key_id}.")


def _account_of(key_id: str, tx: Transaction) -> str:
    """Returns the ID of the account of a key. Raises CommandError."""
    account = store_keys.find_account_of_any_key(key_id, tx)
    if account is None:
        # A secret that was passed instead of an ID is not repeated on the screen.
        message = "No API key has this ID." if key_id.startswith("rk_") else ""
        raise CommandError(message or f"API key {key_id} does not exist.", ExitCode.NOT_FOUND)
    return account
