"""The command line `roster`.

A command is imported when it runs, so that it starts without the imports of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer.core import TyperGroup

from ..config import SettingError, warn_about_unknown_settings
from ..rpc.errors import RosterError
from ..serving.console import CommandError, ExitCode, console, fail, flush, notice
from ..storage.database import StorageError
from ..values.addresses import PortInUse


class Command(NamedTuple):
    """The module and the attribute of a command: a function, or a Typer app with subcommands."""

    target: str
    # Whether it logs unknown settings, which the others print.
    logs: bool = False


COMMANDS = {
    "serve": Command("serve:serve", logs=True),
    "server": Command("server:server", logs=True),
    "gateway": Command("gateway:gateway", logs=True),
    "worker": Command("worker:worker", logs=True),
    "migrate": Command("migrate:migrate"),
    "copy": Command("copy:copy"),
    "backup": Command("backup:backup"),
    "restore": Command("restore:restore"),
    "import": Command("transfer.import_command:import_"),
    "export": Command("transfer.export_command:export"),
    "batch": Command("batch:batch"),
    "settings": Command("settings:settings"),
    "accounts": Command("accounts:app"),
    "keys": Command("keys:app"),
    "webhooks": Command("webhooks:app"),
    "suppressions": Command("suppressions:app"),
}


class _Commands(Mapping[str, Any]):
    """Imports a command when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        module, _, attribute = COMMANDS[name].target.partition(":")
        target = getattr(import_module(f".{module}", __package__), attribute)
        if not isinstance(target, typer.Typer):
            command, target = target, typer.Typer(add_completion=False)
            target.command(name)(command)
        loaded = typer.main.get_command(target)
        loaded.name = name
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("MutableMapping[str, Any]", _Commands())

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - of TyperGroup
        return list(self.commands)


app = typer.Typer(
    name="roster",
    cls=_Group,
    help="Manages email subscribers, tags and custom fields.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _print_version(requested: bool) -> None:
    if requested:
        console.print(f"roster {version('roster')}")
        raise typer.Exit


@app.callback()
def _before_command(
    context: typer.Context,
    _: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    assert context.invoked_subcommand is not None
    if not COMMANDS[context.invoked_subcommand].logs:
        warn_about_unknown_settings(notice)


def main() -> None:
    """Runs the command line. An error is one line on standard error and an exit code."""
    try:
        _run()
    except SystemExit as exit_:
        flush(failed=bool(exit_.code))
        raise


def _run() -> None:
    try:
        app()
    except CommandError as error:
        fail(str(error), error.exit_code)
    except SettingError as error:
        fail(str(error), ExitCode.USAGE)
    except PortInUse as error:
        fail(str(error), ExitCode.PORT_IN_USE)
    except StorageError as error:
        fail(str(error), ExitCode.DATABASE)
    except RosterError:
        # A write during startup was rejected, for example because the disk is full.
        fail("A write to the database failed. The server log states the cause.", ExitCode.DATABASE)
