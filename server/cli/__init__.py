"""The command line. Each command is a file; this one puts them together."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from ..config import SettingError, unknown_settings
from ..console import ExitCode, complain, console, flush, say
from ..errors import RosterError
from ..serving.reserved_ports import PortInUse
from ..storage.database import StorageError
from . import (
    accounts,
    backup,
    copy,
    gateway,
    keys,
    migrate,
    restore,
    serve,
    server,
    settings,
    webhooks,
    worker,
)
from .transfer import export_command, import_command
from .transfer.errors import TransferError

app = typer.Typer(
    name="roster",
    help="Keeps email subscribers, tags and custom fields.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
# They log what others print.
_SERVING = {"serve", "server", "gateway", "worker"}


def _print_version(asked: bool) -> None:
    if asked:
        console.print(f"roster {version('roster')}")
        raise typer.Exit


@app.callback()
def _before_each(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand not in _SERVING:
        for sentence in unknown_settings():
            say(sentence)


app.command(name="serve")(serve.serve)
app.command(name="server")(server.server)
app.command(name="gateway")(gateway.gateway)
app.command(name="worker")(worker.worker)
app.command(name="migrate")(migrate.migrate)
app.command(name="copy")(copy.copy)
app.command(name="backup")(backup.backup)
app.command(name="restore")(restore.restore)
app.command(name="import")(import_command.import_)
app.command(name="export")(export_command.export)
app.command(name="settings")(settings.settings)
app.add_typer(accounts.app, name="accounts", help="Create, list and verify accounts.")
app.add_typer(keys.app, name="keys", help="Create, list and revoke API keys.")
app.add_typer(webhooks.app, name="webhooks", help="List webhooks, and follow what is sent to them.")


def main() -> None:
    """Runs the command line; what cannot be done is one sentence and an exit code."""
    try:
        _run()
    except SystemExit as ended:
        flush(failed=bool(ended.code))
        raise


def _run() -> None:
    try:
        app()
    except SettingError as error:
        complain(str(error), ExitCode.USAGE)
    except PortInUse as error:
        complain(str(error), ExitCode.PORT_IN_USE)
    except StorageError as error:
        complain(str(error), ExitCode.DATABASE)
    except RosterError:
        # What a service writes before it serves was refused; its disk is full, for instance.
        complain("The database did not take it; the log tells why.", ExitCode.DATABASE)
    except TransferError as error:
        complain(str(error), error.ending)
