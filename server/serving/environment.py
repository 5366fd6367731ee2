"""Reads settings from the environment: secrets from files, unknown variables and earlier names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, MutableMapping
from difflib import get_close_matches
from pathlib import Path

from ..config import (
    API_KEY,
    FILE,
    NEW_SECRET_KEY,
    PREFIX,
    SERVE_GRPC,
    SERVE_HTTP,
    SETTINGS,
    URL,
    SettingError,
)

# Earlier names of commands, flags and variables, which are rejected with the current name.
RENAMED = {
    "server": SERVE_GRPC,
    "gateway": SERVE_HTTP,
    "--workers": "--processes",
    "ROSTER_WORKERS": "ROSTER_PROCESSES",
}
# The maximum number of characters in the file of a secret.
_MAX_SECRET = 10_000
# The variables whose value a file can contain.
SECRETS = (
    API_KEY,
    NEW_SECRET_KEY,
    *(row.environment for row in SETTINGS.values() if row.is_secret),
)


def read_secret_files(environment: MutableMapping[str, str]) -> None:
    """Sets each secret, such as ROSTER_API_KEY, whose file is named by ROSTER_API_KEY_FILE.

    Whitespace at the end of the file is removed. Removes the name of the file from the environment,
    so that processes that inherit it do not find both. Raises SettingError.
    """
    for name in SECRETS:
        file = environment.pop(f"{name}{FILE}", "")
        if file and environment.get(name):
            raise SettingError(f"{name} and {name}{FILE} are both set. Unset one of them.")
        if file:
            environment[name] = _secret_in(file, f"{name}{FILE}")


def _secret_in(file: str, variable: str) -> str:
    try:
        with Path(file).open() as source:  # A device can have no end.
            text = source.read(_MAX_SECRET + 1).rstrip()
    except OSError as error:
        raise SettingError(f"{variable}: {file} cannot be read: {error.strerror}.") from error
    except ValueError:
        text = ""
    if not text or "\0" in text or len(text) > _MAX_SECRET:
        text = f"{variable}: {file} must contain text of at most {_MAX_SECRET:,} characters."
        raise SettingError(text)
    return text


def with_flags(message: str, arguments: Collection[str]) -> str:
    """Returns an error about settings that names those in the arguments of a command by flag."""
    flags = {row.environment: row.flag for row in SETTINGS.values()}
    given = {argument.partition("=")[0] for argument in arguments}
    return re.sub(
        rf"\b{PREFIX}[A-Z_]+\b",
        lambda name: flags[name[0]] if flags.get(name[0]) in given else name[0],
        message,
    )


# Variables that Kubernetes sets in every container for a service named "roster" or "roster-...".
_KUBERNETES_VARIABLE = re.compile(
    r".*_SERVICE_HOST=.*|.*_SERVICE_PORT(_.*)?=.*|.*_PORT=\w+://.*|.*_PORT_\d+_[A-Z]+(_.*)?=.*"
)


# Words in the names of settings of other programs, and the words that Roster uses.
_OTHER_WORDS = {
    **dict.fromkeys(("ADDR", "BIND", "HOST", "LISTEN", "PORT"), "ADDRESS"),
    "CERT": "CERTIFICATE",
    "DB": "DATABASE",
}


def _in_our_words(variable: str) -> str:
    words = variable.removeprefix(PREFIX).split("_")
    return "_".join(_OTHER_WORDS.get(word, word) for word in words)


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Returns each variable with the prefix ROSTER_ that is not a setting and the nearest setting.

    Variables that Kubernetes sets are omitted.
    """
    known = [API_KEY, NEW_SECRET_KEY, URL, *(setting.environment for setting in SETTINGS.values())]
    known += [f"{name}{FILE}" for name in SECRETS]
    # The common prefix is removed: it would make all names similar.
    names = {name.removeprefix(PREFIX): name for name in known}
    return {
        name: next(map(names.get, get_close_matches(_in_our_words(name), names, n=1)), None)
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX)
        and name not in known
        and not _KUBERNETES_VARIABLE.fullmatch(f"{name}={value}")
    }


def renamed(name: str) -> str:
    """Returns the error for an earlier name."""
    return f"{name} has been renamed to {RENAMED[name]}."


def warn_about_unknown_settings(warn: Callable[[str], object]) -> None:
    """Passes a warning for each ROSTER_ variable in the environment that is not a setting.

    Removes the variable from the environment, so that the processes that inherit the environment do
    not report it again. Raises SettingError for an earlier name of a setting.
    """
    for name, similar in unknown_variables(os.environ).items():
        if name in RENAMED:
            raise SettingError(renamed(name))
        del os.environ[name]
        hint = f" Did you mean {similar}?" if similar else ""
        warn(f"{name} is not a setting and is ignored.{hint}")
