"""The account of commands that read and change the database."""

from __future__ import annotations

import click

from ...features.accounts import store
from ...serving.console import CommandError, ExitCode
from ...storage.transaction import Transaction

account_option = click.option(
    "--account", default="", metavar="ID", help="ID of the account. Default: the only account."
)


def account_id_of(account: str, tx: Transaction) -> str:
    """Returns the ID of the account that was named, or of the only account.

    Raises CommandError.
    """
    if account:
        if store.find_account(account, tx) is None:
            raise CommandError(f"Account {account} does not exist.", ExitCode.NOT_FOUND)
        return account
    accounts = store.list_accounts(tx)
    if not accounts:
        raise CommandError(
            "There is no account. To create one with its first key, run: roster accounts create"
            " --email EMAIL",
            ExitCode.NOT_FOUND,
        )
    if len(accounts) > 1:
        raise CommandError(
            f"There are {len(accounts):,} accounts. Choose one with --account ID; roster accounts"
            " list prints the IDs.",
            ExitCode.USAGE,
        )
    return accounts[0].id
