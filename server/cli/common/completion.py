"""Shell completion: prints the script of the user's shell, or installs it."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from ...serving.console import CommandError, ExitCode, echo
from .endings import writing

_NAME = "roster"
# The file for the script by shell, and the file and line that load it, unless the shell does.
_FILES = {
    "bash": (f".bash_completions/{_NAME}.sh", ".bashrc", "source '{}'"),
    "zsh": (f".zfunc/_{_NAME}", ".zshrc", "autoload -Uz compinit; compinit; source '{}'"),
    "fish": (f".config/fish/completions/{_NAME}.fish", "", ""),
}


def _show(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        echo(_script(context, _shell()))
        context.exit()


def _install(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if not requested:
        return
    shell = _shell()
    name, start, line = _FILES[shell]
    file = Path.home() / name
    with writing(str(file)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_script(context, shell))
    if start:
        startup, line = Path.home() / start, line.format(file)
        with writing(str(startup)):
            lines = startup.read_text().splitlines() if startup.exists() else []
            if line not in lines:
                startup.write_text("\n".join([*lines, line, ""]))
    echo(f"Installed the completion for {shell} in {file}. It works in new terminals.")
    context.exit()


def _shell() -> str:
    """Returns the name of the user's shell. Raises CommandError if it is not supported."""
    shell = Path(os.environ.get("SHELL", "")).name
    if shell not in _FILES:
        raise CommandError(
            f"The completion supports {', '.join(_FILES)}. Set SHELL to one of them.",
            ExitCode.USAGE,
        )
    return shell


def _script(context: click.Context, shell: str) -> str:
    completion = get_completion_class(shell)
    assert completion is not None
    return completion(context.command, {}, _NAME, f"_{_NAME.upper()}_COMPLETE").source()


install_completion_option = click.option(
    "--install-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_install,
    help="Install completion for the current shell.",
)
show_completion_option = click.option(
    "--show-completion",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show,
    help="Show completion for the current shell, to copy it or customize the installation.",
)
