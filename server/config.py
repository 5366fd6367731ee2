"""Settings: one row each, from which flags, environment names, help and checks are made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .accounts.rules import is_well_formed, make_secret
from .vault import make_key, parse_key

IN_PROCESS = "in-process"
OVER_GRPC = "grpc"
# A limit over more than a day is a quota; that is kept elsewhere than in memory.
MAX_RATE_LIMIT_SECONDS = 86_400
MAX_CONNECTIONS = 100


class Setting(NamedTuple):
    """A setting: `name` as a Python word, its default, and what it means."""

    name: str
    default: str
    help: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"ROSTER_{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The flag that sets it, stronger than the environment."""
        return f"--{self.name.replace('_', '-')}"


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "http_address",
            "127.0.0.1:8080",
            "Where JSON over HTTP is served; port 0 is a free one.",
        ),
        Setting("grpc_address", "127.0.0.1:50051", "Where gRPC is served; port 0 is a free one."),
        Setting(
            "database_url",
            "sqlite:///data/roster.db",
            "Where everything is kept: sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME.",
        ),
        Setting(
            "database_pool",
            "8",
            "Connections to PostgreSQL that a process keeps, from 2 to 100: half of them to read.",
        ),
        Setting(
            "bootstrap_api_key",
            "",
            "The key of the first account on an empty database; made up where it is empty.",
        ),
        Setting(
            "secret_key",
            "",
            "32 bytes in base64, for what is hashed or sealed; empty: a file beside SQLite's.",
        ),
        Setting(
            "http_channel",
            IN_PROCESS,
            f"How HTTP reaches the services: {IN_PROCESS}, or {OVER_GRPC} through the gRPC port.",
        ),
        Setting(
            "rate_limit",
            "",
            "CALLS/SECONDS, such as 100/1: an account has a bucket of so many calls, which fills"
            " evenly within so many seconds; no limit where it is empty.",
        ),
        Setting(
            "log_level", "info", "What is logged: debug, info (a line a call), warning, error."
        ),
    )
}


class SettingError(ValueError):
    """A setting has a value that cannot be used; the text says which and why."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(name: str, text: str) -> Address:
    """Returns HOST:PORT as an address. Raises SettingError."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]+):([0-9]{1,5})", text)
    if match is None or int(match[2]) > 65_535:
        raise SettingError(f"{SETTINGS[name].environment} must be HOST:PORT and is {text!r}.")
    return Address(match[1].strip("[]"), int(match[2]))


class Rate(NamedTuple):
    """How many calls may be made in how many seconds."""

    calls: int
    seconds: int


def parse_rate_limit(text: str) -> Rate | None:
    """Returns CALLS/SECONDS as a rate, and None for an empty text. Raises SettingError."""
    if not text:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,4})", text)
    if match is None or int(match[2]) > MAX_RATE_LIMIT_SECONDS:
        raise SettingError(
            f"{SETTINGS['rate_limit'].environment} must be CALLS/SECONDS, such as 100/1, with at"
            f" most {MAX_RATE_LIMIT_SECONDS} seconds, or empty, and is {text!r}."
        )
    return Rate(int(match[1]), int(match[2]))


class PostgresUrl(NamedTuple):
    """A PostgreSQL database; as text it is without its password."""

    url: str

    def __str__(self) -> str:
        url = urlsplit(self.url)
        user, at, host = url.netloc.rpartition("@")
        return f"{url.scheme}://{user.partition(':')[0]}{at}{host}{url.path}"


Place = Path | PostgresUrl


def parse_database_url(text: str) -> Place:
    """Returns the file of sqlite:///PATH, where four slashes make the path absolute, or a server.

    Raises SettingError, which does not repeat the password of a server.
    """
    url = urlsplit(text)
    if url.scheme in ("postgresql", "postgres"):
        return PostgresUrl(text)
    path = unquote(url.path[1:])
    if url.scheme != "sqlite" or url.netloc or not path or url.query or url.fragment:
        raise SettingError(
            f"{SETTINGS['database_url'].environment} must be sqlite:///PATH or"
            f" postgresql://USER:PASSWORD@HOST/NAME and is {_without_password(text)!r}."
        )
    return Path(path)


def _without_password(text: str) -> str:
    return re.sub(r":[^:/@]+@", ":...@", text)


def parse_database_pool(text: str) -> int:
    """Returns how many connections there may be. Raises SettingError."""
    if re.fullmatch(r"[0-9]{1,3}", text) is None or not 2 <= int(text) <= MAX_CONNECTIONS:
        raise SettingError(
            f"{SETTINGS['database_pool'].environment} must be a number from 2 to"
            f" {MAX_CONNECTIONS} and is {text!r}."
        )
    return int(text)


def check_bootstrap_key(key: str) -> str:
    """Returns the key. Raises SettingError unless it is empty or a well-formed key."""
    if key and not is_well_formed(key):
        raise SettingError(
            f"{SETTINGS['bootstrap_api_key'].environment} is not a key: that is rk_, 40 characters"
            f" of base62 and 6 of their CRC-32, such as the freshly made {make_secret()}"
        )
    return key


def check_secret_key(text: str) -> str:
    """Returns the key. Raises SettingError unless it is empty or 32 bytes in base64."""
    if text and parse_key(text) is None:
        raise SettingError(
            f"{SETTINGS['secret_key'].environment} must be 32 bytes in base64, such as the"
            f" freshly made {make_key()}"
        )
    return text


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Returns the value. Raises SettingError if it is none of the choices."""
    if value not in choices:
        known = ", ".join(choices)
        raise SettingError(f"{SETTINGS[name].environment} must be one of {known} and is {value!r}.")
    return value
