"""Command line options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any

import typer

from ...config import API_KEY, FILE, SETTINGS, URL, Setting, Settings
from ...serving.role import Role
from .files import FileFormat


def option(setting: Setting[Any]) -> Any:
    """Returns the option of a setting, for use in Annotated."""
    return typer.Option(setting.flag, envvar=setting.environment, help=setting.help)


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts; see roster -h.")]
DatabaseUrl = Annotated[str, option(Settings.database_url)]
DEFAULT_DATABASE_URL = Settings.database_url.default
SecretKey = Annotated[str, option(Settings.secret_key)]
# Set by the supervisor for its processes.
Supervised = Annotated[Role, typer.Option("--supervised", hidden=True)]
Url = Annotated[str, typer.Option(metavar="URL", envvar=URL, help="URL of the service.")]
LOCAL_URL = "http://127.0.0.1:8080"
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        metavar="KEY",
        envvar=API_KEY,
        help="API key. Other users of this machine can see flags, but not the environment."
        f" {API_KEY}{FILE} names a file that contains it.",
    ),
]

OutputFile = Annotated[
    str, typer.Argument(metavar="FILE", help="File to write; - is standard output.")
]
ExportFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        case_sensitive=False,
        help="Format of the file. Default: from the file suffix; NDJSON without one.",
    ),
]
ImportFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--format",
        case_sensitive=False,
        help="Format of the file. A JSON array is NDJSON. Default: from the first character or the"
        " file suffix.",
    ),
]
Search = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="Only subscribers whose address, name or last name starts with this text.",
    ),
]
Bom = Annotated[
    bool, typer.Option("--bom", help="Start a CSV file with a byte order mark, for Excel.")
]


def takes_settings(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of all settings that apply to a command, which is known by its name.

    The command receives them as its first argument, a Settings object.
    """
    name = command.__name__.replace("_", "-")
    rows = [setting for setting in SETTINGS.values() if name in setting.commands]

    def run(context: typer.Context, **values: Any) -> None:
        texts = {row.name: values.pop(row.name) for row in rows}
        explicit = {row.name for row in rows if _is_set(context, row.name)}
        command(Settings(texts, explicit), **values)

    _, *others = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [
        Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context),
        *(
            Parameter(
                row.name,
                Parameter.KEYWORD_ONLY,
                default=row.default_of(name),
                annotation=Annotated[str, option(row)],
            )
            for row in rows
        ),
        *(other.replace(kind=Parameter.KEYWORD_ONLY) for other in others),
    ]
    # Typer reads the options from the signature and the help from the docstring.
    vars(run).update(__signature__=inspect.Signature(parameters))
    run.__annotations__ = {}
    run.__doc__ = command.__doc__
    return run


def _is_set(context: typer.Context, name: str) -> bool:
    """Returns whether a flag or the environment sets a parameter."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"
