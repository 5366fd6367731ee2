"""roster accounts"""

from __future__ import annotations

from typing import Annotated

import typer

from ..accounts import store
from ..accounts.rules import ADMIN, hash_secret, make_secret
from ..clock import written
from ..config import SETTINGS
from ..console import ExitCode, complain, console
from ..emails import parse_email
from ..storage.databases import reading, unit_of_work
from .output import DatabaseUrl, Json, account_json, print_json, print_table

app = typer.Typer(no_args_is_help=True)

_DEFAULT_URL = SETTINGS["database_url"].default


@app.command()
def create(
    email: Annotated[str, typer.Option(help="The account's own email address.")],
    unverified: Annotated[
        bool, typer.Option("--unverified", help="The address is not verified yet.")
    ] = False,
    database_url: DatabaseUrl = _DEFAULT_URL,
    json: Json = False,
) -> None:
    """Create an account and its first API key, of scope admin. Works while the service runs.

    Ends with 9 if an account with the address exists already. Addresses are compared without
    regard to case and to the spelling of international domains.
    """
    parsed = parse_email(email)
    if parsed is None:
        complain(f"{email!r} is not an email address.", ExitCode.USAGE)
    secret = make_secret()
    try:
        with unit_of_work(database_url) as tx:
            account = store.create_account(parsed.address, tx, verified=not unverified)
            store.create_key(account.id, "first key", ADMIN, hash_secret(secret), tx)
    except store.AccountExists as taken:
        complain(
            f"An account with the address {parsed.address} already exists: {taken.account_id}. For"
            f" another key of it, run: roster keys create --account {taken.account_id}"
            " --scope admin",
            ExitCode.EXISTS,
        )
    if json:
        print_json({"account": account_json(account), "apiKey": secret})
        return
    console.print(f"account  {account.id}\nAPI key  {secret}\n\nThe key is not shown again.")


@app.command(name="list")
def list_(database_url: DatabaseUrl = _DEFAULT_URL, json: Json = False) -> None:
    """List all accounts, oldest first."""
    with reading(database_url) as tx:
        rows = store.list_accounts(tx)
    if json:
        print_json({"accounts": [account_json(row) for row in rows]})
        return
    print_table(
        ("id", "email", "verified", "created"),
        [
            (row.id, row.email, "yes" if row.email_verified else "no", written(row.created_at))
            for row in rows
        ],
    )


@app.command()
def verify(
    account_id: Annotated[str, typer.Argument(metavar="ID", help="The account.")],
    database_url: DatabaseUrl = _DEFAULT_URL,
    json: Json = False,
) -> None:
    """Mark an account's email address as verified. A running service knows within 5 seconds."""
    with unit_of_work(database_url, must_exist=True) as tx:
        store.verify_account(account_id, tx)
        account = store.find_account(account_id, tx)
    if account is None:
        complain(f"There is no account {account_id}.", ExitCode.NOT_FOUND)
    if json:
        print_json({"account": account_json(account)})
    else:
        console.print(f"{account.email} is verified.")
