"""roster accounts"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..features.accounts import store
from ..features.accounts.rules import ADMIN, MAX_NAME_LENGTH, hash_secret, make_secret
from ..features.accounts.store import AccountRow
from ..serving.console import CommandError, ExitCode, console
from ..storage.databases import reading, unit_of_work
from ..values.clock import iso8601
from ..values.emails import parse_email
from ..values.texts import has_control_characters, trim
from .common.options import DEFAULT_DATABASE_URL, DatabaseUrl, Json
from .common.output import print_json, print_json_list, print_table

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Create, list, update and verify accounts."
)

_AccountId = Annotated[str, typer.Argument(metavar="ID", help="ID of the account.")]


@app.command()
def create(
    email: Annotated[str, typer.Option(help="Email address of the account.")],
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Create the account with an unverified address.")
    ] = False,
    display_name: Annotated[
        str, typer.Option(help="Name of the sender on the account's pages.")
    ] = "",
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
    json: Json = False,
) -> None:
    """Create an account and its first API key, of scope admin. Works while the service runs.

    Ends with exit code 9 if an account with the address already exists. The comparison ignores
    case and the encoding of international domain names.
    """
    parsed = parse_email(email)
    if parsed is None:
        raise CommandError(f"{email!r} is not a valid email address.", ExitCode.USAGE)
    name = _checked_name(display_name)
    secret = make_secret()
    try:
        with unit_of_work(database_url) as tx:
            account = store.create_account(
                parsed.address, tx, verified=not unverified, display_name=name
            )
            key = store.create_key(account.id, "first key", ADMIN, hash_secret(secret), tx)
    except store.AccountExists as error:
        raise CommandError(
            f"An account with the address {parsed.address} already exists: {error.account_id}. To"
            f" create another key for it, run: roster keys create --account {error.account_id}"
            " --scope admin",
            ExitCode.ALREADY_EXISTS,
        ) from None
    if json:
        print_json({"account": _as_json(account), "apiKey": key.as_json(), "secret": secret})
        return
    console.print(f"account  {account.id}\nAPI key  {secret}\n\nThe key is not shown again.")


@app.command(name="list")
def list_(database_url: DatabaseUrl = DEFAULT_DATABASE_URL, json: Json = False) -> None:
    """List all accounts, oldest first."""
    with reading(database_url) as tx:
        rows = store.list_accounts(tx)
    if json:
        print_json_list("accounts", [_as_json(row) for row in rows])
        return
    print_table(
        ("id", "email", "verified", "created"),
        [
            (row.id, row.email, "yes" if row.email_verified else "no", iso8601(row.created_at))
            for row in rows
        ],
    )


@app.command()
def update(
    account_id: _AccountId,
    display_name: Annotated[
        str, typer.Option(help="New name of the sender on the account's pages. Empty clears it.")
    ],
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
    json: Json = False,
) -> None:
    """Update the display name of an account. Works while the service runs."""
    name = _checked_name(display_name)
    with unit_of_work(database_url, must_exist=True) as tx:
        account = store.update_account(account_id, {"display_name": name}, tx)
    _print_changed("Updated", account_id, account, json=json)


@app.command()
def verify(
    account_id: _AccountId,
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
    json: Json = False,
) -> None:
    """Mark the email address of an account as verified. Takes effect within 5 seconds."""
    with unit_of_work(database_url, must_exist=True) as tx:
        store.verify_account(account_id, tx)
        account = store.find_account(account_id, tx)
    _print_changed("Verified", account_id, account, json=json)


def _checked_name(display_name: str) -> str:
    name = trim(display_name)
    if len(name) > MAX_NAME_LENGTH or has_control_characters(name):
        raise CommandError(
            f"A display name must have at most {MAX_NAME_LENGTH} characters and no control"
            " characters.",
            ExitCode.USAGE,
        )
    return name


def _print_changed(verb: str, account_id: str, account: AccountRow | None, *, json: bool) -> None:
    if account is None:
        raise CommandError(f"Account {account_id} does not exist.", ExitCode.NOT_FOUND)
    if json:
        print_json({"account": _as_json(account)})
    else:
        console.print(f"{verb} {account.email}.")


def _as_json(row: AccountRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "email": row.email,
        "emailVerified": row.email_verified,
        "displayName": row.display_name,
        "createdAt": iso8601(row.created_at),
    }
