"""roster accounts"""

from __future__ import annotations

import click

from ..features.accounts import store
from ..features.accounts.rules import MAX_NAME_LENGTH, hash_secret, make_secret
from ..features.accounts.store import AccountRow
from ..features.audit.store import record_command
from ..features.subscribers.counters.store_pages import total
from ..maintenance.account_deletion import delete_account, remove_files
from ..serving.console import CommandError, ExitCode, echo, pluralized
from ..storage.databases import reading, transactions, unit_of_work
from ..storage.transaction import Transaction
from ..values.clock import iso8601
from ..values.emails import parse_email
from ..values.texts import has_control_characters, trim
from .common.endings import check_terminal, confirm_deletion, interruptible
from .common.options import database_url_option, json_option
from .common.output import print_json, print_json_list, print_table
from .common.progress import RowProgress

_INTERRUPTED = "Interrupted. Run the same command again to delete the rest of the account."
_account_id_argument = click.argument("account_id", metavar="ID", help="ID of the account.")


@click.group()
def app() -> None:
    """Create, list, rename, verify and delete accounts."""


@app.command()
@click.option("--email", required=True, help="Email address of the account.")
@click.option("--unverified", is_flag=True, help="Create the account with an unverified address.")
@click.option("--display-name", default="", help="Name of the sender on the account's pages.")
@database_url_option
@json_option
def create(email: str, unverified: bool, display_name: str, database_url: str, json: bool) -> None:
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
            account, key = store.create_account_with_key(
                parsed.address, hash_secret(secret), tx, verified=not unverified, display_name=name
            )
    except store.AccountExists as error:
        raise CommandError(
            f"An account with the address {parsed.address} already exists: {error.account_id}. To"
            f" create another key for it, run: roster keys create --account {error.account_id}"
            " --scope admin",
            ExitCode.ALREADY_EXISTS,
        ) from None
    if json:
        print_json({"account": account.as_json(), "apiKey": key.as_json(), "secret": secret})
        return
    echo(f"account  {account.id}\nAPI key  {secret}\n\nThe key is not shown again.")


@app.command(name="list")
@database_url_option
@json_option
def list_(database_url: str, json: bool) -> None:
    """List all accounts, oldest first."""
    with reading(database_url) as tx:
        rows = store.list_accounts(tx)
    if json:
        print_json_list("accounts", [row.as_json() for row in rows])
        return
    print_table(
        ("id", "email", "verified", "created"),
        [
            (row.id, row.email, "yes" if row.email_verified else "no", iso8601(row.created_at))
            for row in rows
        ],
    )


@app.command()
@_account_id_argument
@click.argument("name", help="New name of the sender on the account's pages. Empty clears it.")
@database_url_option
@json_option
def rename(account_id: str, name: str, database_url: str, json: bool) -> None:
    """Change the display name of an account. Works while the service runs."""
    display_name = _checked_name(name)
    with unit_of_work(database_url, must_exist=True) as tx:
        before = _account(account_id, tx)
        store.update_account(account_id, {"display_name": display_name}, tx)
        account = _recorded("account.updated", before, tx)
    _print_changed("Renamed", account, json=json)


@app.command()
@_account_id_argument
@database_url_option
@json_option
def verify(account_id: str, database_url: str, json: bool) -> None:
    """Mark the email address of an account as verified. Takes effect within 5 seconds."""
    with unit_of_work(database_url, must_exist=True) as tx:
        before = _account(account_id, tx)
        store.verify_account(account_id, tx)
        account = _recorded("account.verified", before, tx)
    _print_changed("Verified", account, json=json)


@app.command()
@_account_id_argument
@click.option("--yes", is_flag=True, help="Delete without asking. Required without a terminal.")
@database_url_option
@json_option
def delete(account_id: str, yes: bool, database_url: str, json: bool) -> None:
    """Delete an account with all of its data. Works while the service runs.

    Its API keys stop working first, within 6 seconds. The rows are then deleted in short
    transactions. Run the same command again to resume an interrupted deletion. Backups keep the
    data until they are removed. Exit codes: 4 if the database cannot be used, 5 if the account
    does not exist, and 130 if the command was interrupted or not confirmed.
    """
    with transactions(database_url) as begin:
        with begin(read_only=True) as tx:
            account = _account(account_id, tx)
            subscribers = total(account_id, tx)
        if not yes:
            check_terminal("The deletion of an account")
            confirm_deletion(f"{account.email} with {pluralized(subscribers, 'subscriber')}")
        with interruptible(_INTERRUPTED), RowProgress(0, 0) as progress:
            removed = delete_account(
                account_id, begin, lambda rows: progress.show(rows, rows, None)
            )
    remove_files(database_url, account_id)
    if json:
        print_json({"accountId": account_id, "rows": removed})
        return
    print_table(("table", "rows"), [(name, f"{rows:,}") for name, rows in sorted(removed.items())])
    echo(f"\nDeleted {account.email}.")


def _account(account_id: str, tx: Transaction) -> AccountRow:
    """Returns an account. Raises CommandError if it does not exist."""
    account = store.find_account(account_id, tx)
    if account is None:
        raise CommandError(f"Account {account_id} does not exist.", ExitCode.NOT_FOUND)
    return account


def _recorded(action: str, before: AccountRow, tx: Transaction) -> AccountRow:
    """Records a change of an account, and returns it as it is now."""
    after = _account(before.id, tx)
    record_command(before.id, action, tx, before=before.as_json(), after=after.as_json())
    return after


def _checked_name(display_name: str) -> str:
    name = trim(display_name)
    if len(name) > MAX_NAME_LENGTH or has_control_characters(name):
        raise CommandError(
            f"A display name must have at most {MAX_NAME_LENGTH} characters and no control"
            " characters.",
            ExitCode.USAGE,
        )
    return name


def _print_changed(verb: str, account: AccountRow, *, json: bool) -> None:
    if json:
        print_json({"account": account.as_json()})
    else:
        echo(f"{verb} {account.email}.")
