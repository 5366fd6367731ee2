"""roster keys"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ..accounts import store
from ..accounts.rules import MAX_NAME_LENGTH, SCOPES, hash_secret, make_secret
from ..clock import written
from ..config import SETTINGS
from ..console import ExitCode, complain, console
from ..errors import ApiKeyNotFound
from ..paging import MAX_LIMIT, Page
from ..storage.databases import reading, unit_of_work
from ..storage.transaction import Transaction
from ..texts import has_control_characters, trim
from .output import DatabaseUrl, Json, api_key_json, print_json, print_table

app = typer.Typer(no_args_is_help=True)

_DEFAULT_URL = SETTINGS["database_url"].default
_Account = Annotated[str, typer.Option(metavar="ID", help="The account that the key acts for.")]


class Scope(StrEnum):
    """The scopes, as typer offers them."""

    READ, WRITE, ADMIN = SCOPES


@app.command()
def create(
    account: _Account,
    scope: Annotated[Scope, typer.Option(case_sensitive=False, help="What the key may do.")],
    name: Annotated[str, typer.Option(help="What the key is for.")] = "made by roster keys create",
    database_url: DatabaseUrl = _DEFAULT_URL,
    json: Json = False,
) -> None:
    """Create a key. It is printed once and cannot be shown again."""
    name = trim(name)
    if not 0 < len(name) <= MAX_NAME_LENGTH or has_control_characters(name):
        told = f"A key's name has 1 to {MAX_NAME_LENGTH} characters and no control characters."
        complain(told, ExitCode.USAGE)
    secret = make_secret()
    with unit_of_work(database_url, must_exist=True) as tx:
        _check_account(account, tx)
        row = store.create_key(account, name, scope.value, hash_secret(secret), tx)
    if json:
        print_json({"apiKey": api_key_json(row), "secret": secret})
    else:
        console.print(f"id       {row.id}\nAPI key  {secret}\n\nThe key is not shown again.")


def _check_account(account: str, tx: Transaction) -> None:
    """Ends the program if there is no such account."""
    if store.find_account(account, tx) is None:
        complain(f"There is no account {account}.", ExitCode.NOT_FOUND)


@app.command(name="list")
def list_(account: _Account, database_url: DatabaseUrl = _DEFAULT_URL, json: Json = False) -> None:
    """List the keys of an account, oldest first."""
    rows: list[store.ApiKeyRow] = []
    with reading(database_url) as tx:
        _check_account(account, tx)
        total, number = 1, 1
        while len(rows) < total:
            page, total = store.page_of_keys(account, Page(number, MAX_LIMIT), tx)
            rows, number = rows + page, number + 1
    if json:
        print_json({"apiKeys": [api_key_json(row) for row in rows]})
        return
    print_table(
        ("id", "scope", "name", "created", "expires"),
        [
            (
                row.id,
                row.scope,
                row.name,
                written(row.created_at),
                written(row.expires_at) if row.expires_at is not None else "",
            )
            for row in rows
        ],
    )


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, not its secret.")],
    database_url: DatabaseUrl = _DEFAULT_URL,
    json: Json = False,
) -> None:
    """End a key. A running service stops taking it within 5 seconds."""
    try:
        with unit_of_work(database_url, must_exist=True) as tx:
            account = store.find_account_of_any_key(key_id, tx)
            if account is None:
                raise ApiKeyNotFound
            store.revoke_key(account, key_id, tx)
    except ApiKeyNotFound:
        # A secret that was given by mistake does not belong on a screen.
        named = "with that id" if key_id.startswith("rk_") else key_id
        complain(f"There is no key {named}.", ExitCode.NOT_FOUND)
    if json:
        print_json({"revoked": key_id})
    else:
        console.print(f"{key_id} is revoked.")
