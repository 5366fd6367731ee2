"""The command line `roster`.

Each module of this package is a command: the Click command of its name, or the Click group `app`.
A command is imported when it runs, so that it starts without the imports of the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, MutableMapping
from errno import ENOSPC
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NoReturn, cast

import click
from click.exceptions import NoArgsIsHelpError

from ..config import ALL, SettingError
from ..rpc.errors import RosterError
from ..serving.console import CommandError, ExitCode, exit_without_output, fail, flush, notice
from ..serving.environment import (
    RENAMED,
    read_secret_files,
    renamed,
    warn_about_unknown_settings,
    with_flags,
)
from ..storage.database import SchemaTooNew, StorageError
from ..values.addresses import PortInUse

# The first commands in the help. The others follow by name.
_FIRST = [
    *ALL,
    "migrate",
    "copy",
    "backup",
    "restore",
    "check",
    "import",
    "export",
    "batch",
    "settings",
    "accounts",
    "keys",
    "webhooks",
]


# Of the help in characters, unless the terminal is narrower.
_MAX_WIDTH = 120
_HELP = (
    "Manages email subscribers, tags and custom fields.\n\n"
    "With --json, a command prints JSON as the API returns it: a resource under its name, such as"
    ' {"account": {...}}, a list under its plural with its total, {"accounts": [...], "total": 2},'
    " and any other result as one object. An error is the last line of standard error, an object as"
    ' of the API: {"error": {"code": "NotFound", "message": "...", "details": []}}.'
)


class _Commands(Mapping[str, click.Command]):
    """The commands by name. Imports a command when it is looked up."""

    def __init__(self) -> None:
        modules = [module.name for module in iter_modules(__path__) if not module.ispkg]
        # The name of a module can end in _ because it is a keyword, or a name in this one.
        names = {module.rstrip("_").replace("_", "-"): module for module in modules}
        first = [name for name in _FIRST if name in names]
        self._modules = {name: names[name] for name in dict.fromkeys([*first, *sorted(names)])}

    def __getitem__(self, name: str) -> click.Command:
        module = self._modules[name]
        declared = vars(import_module(f".{module}", __package__))
        loaded: click.Command = declared.get("app") or declared[module]
        loaded.name = name
        for each in (loaded, *getattr(loaded, "commands", {}).values()):
            # The whole first paragraph, which Click would cut off after 45 characters.
            each.short_help = (each.help or "").partition("\n\n")[0]
        return loaded

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class _Group(click.Group):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = cast("MutableMapping[str, click.Command]", _Commands())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - of Click
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in RENAMED:
            raise SettingError(renamed(cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    "roster",
    cls=_Group,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _MAX_WIDTH},
)
@click.version_option(
    package_name="roster", message="%(prog)s %(version)s", help="Print the version and exit."
)
@click.pass_context
def app(context: click.Context) -> None:
    read_secret_files(os.environ)
    if context.invoked_subcommand not in ALL:  # These log them.
        warn_about_unknown_settings(notice)


def main() -> None:
    """Runs the command line. An error is one line on standard error and an exit code."""
    try:
        _run()
    except SystemExit as exit_:
        flush(failed=bool(exit_.code))
        raise
    except OSError as error:
        # Click prints the help and the version itself. Commands name the files that they write.
        if error.errno != ENOSPC or error.filename is not None:
            raise
        exit_without_output(error)


def _run() -> None:
    try:
        code = app(prog_name="roster", standalone_mode=False)
    except UnicodeEncodeError as error:
        # Python has read bytes of an argument that are not UTF-8 as surrogates.
        if error.reason != "surrogates not allowed":
            raise
        fail(f"{error.object!r} is not valid UTF-8.", ExitCode.USAGE)
    except NoArgsIsHelpError as error:
        error.show(sys.stdout)
        raise SystemExit(ExitCode.USAGE) from None
    except click.ClickException as error:
        _fail_usage(error)
    except click.Abort:
        fail("Interrupted.", ExitCode.INTERRUPTED)
    except CommandError as error:
        fail(str(error), error.exit_code, error.response)
    except SettingError as error:
        fail(with_flags(str(error), sys.argv), ExitCode.USAGE)
    except PortInUse as error:
        fail(str(error), ExitCode.PORT_IN_USE)
    except SchemaTooNew as error:
        fail(str(error), ExitCode.OUTDATED)
    except StorageError as error:
        fail(with_flags(str(error), sys.argv), ExitCode.DATABASE)
    except RosterError:
        # A write during startup was rejected, for example because the disk is full.
        fail("A write to the database failed. The server log states the cause.", ExitCode.DATABASE)
    else:
        raise SystemExit(code or 0)


def _fail_usage(error: click.ClickException) -> NoReturn:
    """Prints an error of Click on one line and ends the program."""
    message = " ".join(error.format_message().split())
    option = getattr(error, "option_name", "")
    if option in RENAMED:
        message = renamed(option)
    context = getattr(error, "ctx", None)
    hint = f" See {context.command_path} -h." if context else ""
    fail(f"{message}{'' if message.endswith(('.', '?')) else '.'}{hint}", ExitCode.USAGE)
