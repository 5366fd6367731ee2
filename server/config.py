"""Settings: one row each, from which flags, environment names, help and checks are made."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from .accounts.rules import is_well_formed, make_secret
from .encryption import make_key, parse_key

IN_PROCESS = "in-process"
OVER_GRPC = "grpc"
OTLP = "otlp"
OFF = "off"
# The authorities that gRPC knows by itself, in place of a file of them.
PUBLIC = "public"
TRUE, FALSE = "true", "false"
PREFIX = "ROSTER_"
# The variable for the API key of commands that call a running service; it is no setting.
API_KEY = f"{PREFIX}API_KEY"
# A limit over more than a day is a quota; that is kept elsewhere than in memory.
MAX_RATE_LIMIT_SECONDS = 86_400
MAX_CONNECTIONS = 100
MAX_WORKERS = 64


class Setting(NamedTuple):
    """A setting: `name` as a Python word, its default, and what it means."""

    name: str
    default: str
    help: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"{PREFIX}{self.name.upper()}"

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
            "metrics_address",
            "127.0.0.1:9464",
            f"Where figures for Prometheus are served; port 0 is a free one, and {OFF} is nowhere."
            " Of `gateway` it is 127.0.0.1:9465, of `worker` 127.0.0.1:9466. If it is not set and"
            " the port is in use, a warning is logged and metrics are not served.",
        ),
        Setting(
            "workers",
            "1",
            "How many processes share the ports, from 1 to 64; with SQLite there is one.",
        ),
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
            "backup_folder",
            "",
            "A folder for this database alone, into which a service on SQLite makes a backup every"
            " hour, and keeps one of each of 24 hours and 7 days; none are made where it is empty.",
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
            "webhook_allow_nets",
            "",
            "Networks with commas between them, such as 10.0.0.0/8, that webhooks may reach though"
            " they are not public: whoever has a key can make this service connect to them.",
        ),
        Setting(
            "webhook_allow_http",
            FALSE,
            f"{TRUE} to allow webhooks to be sent to http:// URLs, readable by anyone on the"
            " network path.",
        ),
        Setting(
            "trusted_proxies",
            "",
            "Addresses or networks, such as 10.0.0.0/8, whose X-Forwarded-For is believed: where"
            " a call with a wrong key came from is then whoever called them.",
        ),
        Setting(
            "log_level", "info", "What is logged: debug, info (a line a call), warning, error."
        ),
        Setting(
            "log_format",
            "auto",
            "json, text for people, or auto: text where standard error is a terminal, else JSON.",
        ),
        Setting(
            "tracing",
            "",
            f"{OTLP} where spans are sent by OpenTelemetry, whose own environment variables say"
            " where; none are made where it is empty.",
        ),
        Setting(
            "upstream",
            "127.0.0.1:50051",
            "The servers behind a gateway: dns:///HOST:PORT for all addresses of a name, or"
            " ipv4:HOST:PORT,HOST:PORT.",
        ),
        Setting(
            "http_tls_certificate",
            "",
            "A PEM file with the certificate that HTTP is served with, and those between it and"
            " its authority.",
        ),
        Setting("http_tls_key", "", "A PEM file with the private key of that certificate."),
        Setting("grpc_tls_certificate", "", "The same for gRPC: a PEM file with the certificate."),
        Setting("grpc_tls_key", "", "A PEM file with the private key of that certificate."),
        Setting(
            "grpc_tls_client_ca",
            "",
            "A PEM file with the authorities that must have certified whoever calls over gRPC;"
            " anybody may call where it is empty.",
        ),
        Setting(
            "metrics_tls_certificate",
            "",
            "The same for the figures: a PEM file with the certificate.",
        ),
        Setting("metrics_tls_key", "", "A PEM file with the private key of that certificate."),
        Setting(
            "upstream_tls_ca",
            "",
            "A PEM file with the authorities that a gateway trusts to certify its servers, or"
            f" {PUBLIC} for those that everybody trusts; plaintext where it is empty.",
        ),
        Setting(
            "upstream_tls_certificate",
            "",
            "A PEM file with the certificate that a gateway shows to its servers.",
        ),
        Setting("upstream_tls_key", "", "A PEM file with the private key of that certificate."),
        Setting(
            "dangerously_in_plaintext",
            FALSE,
            f"{TRUE} to allow API keys and email addresses to leave this machine without TLS,"
            " readable by anyone on the network path.",
        ),
    )
}


# Variables that Kubernetes sets in every container for a service named "roster" or "roster-...".
_OF_KUBERNETES = re.compile(
    r".*_SERVICE_HOST=.*|.*_SERVICE_PORT(_.*)?=.*|.*_PORT=\w+://.*|.*_PORT_\d+_[A-Z]+(_.*)?=.*"
)


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Returns the variables that look like a setting and are none, with the most similar setting.

    Variables that Kubernetes sets are left out.
    """
    known = [API_KEY, *(setting.environment for setting in SETTINGS.values())]
    # Compared without the prefix, which makes all of them similar.
    words = {name.removeprefix(PREFIX): name for name in known}
    return {
        name: next(map(words.get, get_close_matches(name.removeprefix(PREFIX), words, n=1)), None)
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX)
        and name not in known
        and not _OF_KUBERNETES.fullmatch(f"{name}={value}")
    }


class SettingError(ValueError):
    """A setting has a value that cannot be used; the text says which and why."""


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


Network = IPv4Network | IPv6Network


def parse_trusted_proxies(text: str) -> tuple[Network, ...]:
    """Returns networks that are separated by commas. Raises SettingError."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise SettingError(
            f"{SETTINGS['trusted_proxies'].environment} must be addresses or networks, such as"
            f" 10.0.0.0/8, separated by commas: {error}."
        ) from None


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


def parse_backup_folder(text: str, place: Place) -> Path | None:
    """Returns where backups of the database go, and None for an empty text. Raises SettingError."""
    if not text:
        return None
    name = SETTINGS["backup_folder"].environment
    if isinstance(place, PostgresUrl):
        raise SettingError(
            f"{name} is for SQLite. {place} is backed up with PostgreSQL's own programs: pg_dump,"
            " or pg_basebackup."
        )
    folder = Path(text)
    if not folder.is_dir():
        raise SettingError(f"{name} must be a folder that is there and is {text!r}.")
    return folder


def _without_password(text: str) -> str:
    return re.sub(r":[^:/@]+@", ":...@", text)


def parse_database_pool(text: str) -> int:
    """Returns how many connections there may be. Raises SettingError."""
    return _number("database_pool", text, 2, MAX_CONNECTIONS)


def parse_workers(text: str) -> int:
    """Returns how many processes are to serve. Raises SettingError."""
    return _number("workers", text, 1, MAX_WORKERS)


def parse_networks(text: str) -> list[IPv4Network | IPv6Network]:
    """Returns the networks that webhooks may reach. Raises SettingError."""
    try:
        return [ip_network(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"{SETTINGS['webhook_allow_nets'].environment} must be networks with commas between"
            f" them, such as 10.0.0.0/8,fd00::/8: {error}."
        ) from None


def _number(name: str, text: str, least: int, most: int) -> int:
    if re.fullmatch(r"[0-9]{1,3}", text) is None or not least <= int(text) <= most:
        raise SettingError(
            f"{SETTINGS[name].environment} must be a number from {least} to {most} and is {text!r}."
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


_BOOLEANS = {
    **dict.fromkeys((TRUE, "1", "yes", "on"), True),
    **dict.fromkeys((FALSE, "0", "no", "off"), False),
}


def parse_boolean(name: str, text: str) -> bool:
    """Returns a setting that is true or false, in any letter case. Raises SettingError."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise SettingError(
            f"{SETTINGS[name].environment} must be {TRUE} or {FALSE} (or 1/0, yes/no, on/off) and"
            f" is {text!r}."
        )
    return value


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Returns the value. Raises SettingError if it is none of the choices."""
    if value not in choices:
        known = ", ".join(choice or "empty" for choice in choices)
        raise SettingError(f"{SETTINGS[name].environment} must be one of {known} and is {value!r}.")
    return value


def unknown_settings() -> list[str]:
    """Returns a sentence for each variable of the environment that looks like a setting.

    Such a variable is removed from the environment, so that a worker process, which inherits
    it, does not report it again.
    """
    sentences = []
    for name, similar in unknown_variables(os.environ).items():
        del os.environ[name]
        hint = f" Did you mean {similar}?" if similar else ""
        sentences.append(f"{name} is not a setting and is ignored.{hint}")
    return sentences
