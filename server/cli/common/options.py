"""Command line options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any

import click
from click.core import ParameterSource

from ...config import API_KEY, FILE, SETTINGS, URL, Setting, Settings
from ...serving.role import Role
from ...storage.output_file import STANDARD
from .files import FileFormat

LOCAL_URL = "http://127.0.0.1:8080"


class Choice(click.Choice[Any]):
    """Texts, or the values of an enumeration, in upper or lower case."""

    def __init__(self, choices: Iterable[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:  # noqa: ARG002
        return str(choice).casefold()


def option(setting: Setting[Any], default: str | None = None) -> Callable[..., Any]:
    """Returns the option of a setting, which can have another default."""
    default = setting.default if default is None else default
    return click.option(
        setting.flag,
        setting.name,
        default=default,
        show_default=bool(default),
        envvar=setting.environment,
        show_envvar=True,
        help=setting.help,
    )


json_option = click.option("--json", is_flag=True, help="Print JSON, for scripts; see roster -h.")
database_url_option = option(Settings.database_url)
secret_key_option = option(Settings.secret_key)
# Set by the supervisor for its processes.
supervised_option = click.option("--supervised", type=Choice(Role), default=Role.ALONE, hidden=True)
url_option = click.option(
    "--url",
    default=LOCAL_URL,
    show_default=True,
    metavar="URL",
    envvar=URL,
    show_envvar=True,
    help="URL of the service.",
)
api_key_option = click.option(
    "--api-key",
    default="",
    metavar="KEY",
    envvar=API_KEY,
    show_envvar=True,
    help="API key. Other users of this machine can see flags, but not the environment."
    f" {API_KEY}{FILE} names a file that contains it.",
)

output_file_argument = click.argument(
    "file", default=STANDARD, help="File to write. Default: -, standard output."
)
export_format_option = click.option(
    "--format",
    "file_format",
    type=Choice(FileFormat),
    help="Format of the file. Default: from the file suffix; NDJSON without one.",
)
import_format_option = click.option(
    "--format",
    "file_format",
    type=Choice(FileFormat),
    help="Format of the file. A JSON array is NDJSON. Default: from the first character or the"
    " file suffix.",
)
search_option = click.option(
    "--search",
    default="",
    metavar="TEXT",
    help="Only subscribers whose address, name or last name starts with this text.",
)
bom_option = click.option(
    "--bom", is_flag=True, help="Start a CSV file with a byte order mark, for Excel."
)


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of all settings that apply to a command, which is known by its name.

    The command receives them as its first argument, a Settings object.
    """
    name = command.__name__.replace("_", "-")
    rows = [setting for setting in SETTINGS.values() if name in setting.commands]

    @click.pass_context
    def run(context: click.Context, /, **values: Any) -> None:
        texts = {row.name: values.pop(row.name) for row in rows}
        explicit = {row.name for row in rows if _is_set(context, row.name)}
        command(Settings(texts, explicit), **values)

    update_wrapper(run, command)
    for row in reversed(rows):
        option(row, row.default_of(name))(run)
    return run


def _is_set(context: click.Context, name: str) -> bool:
    """Returns whether a flag or the environment sets a parameter."""
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT
