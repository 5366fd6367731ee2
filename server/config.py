"""Declares the settings: flags, environment variables, help texts and validation."""

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
# Selects the public CA certificates that gRPC contains, instead of a file.
PUBLIC = "public"
TRUE, FALSE = "true", "false"
PREFIX = "ROSTER_"
# The API key of commands that call a running service. It is not a setting of the service.
API_KEY = f"{PREFIX}API_KEY"
# Buckets are stored in memory, so a restart would reset a limit over more than a day.
MAX_RATE_LIMIT_SECONDS = 86_400
MAX_CONNECTIONS = 100
MAX_WORKERS = 64
BACK_UP_POSTGRES = "Use pg_dump or pg_basebackup to back up {}."


class Setting(NamedTuple):
    """A setting: its name as a Python identifier, its default and its help text."""

    name: str
    default: str
    help: str

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"{PREFIX}{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The flag that sets it. It takes precedence over the environment variable."""
        return f"--{self.name.replace('_', '-')}"


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting(
            "http_address",
            "127.0.0.1:8080",
            "HOST:PORT on which JSON over HTTP is served. Port 0 selects a free port.",
        ),
        Setting(
            "grpc_address",
            "127.0.0.1:50051",
            "HOST:PORT on which gRPC is served. Port 0 selects a free port.",
        ),
        Setting(
            "metrics_address",
            "127.0.0.1:9464",
            f"HOST:PORT on which Prometheus metrics are served. Port 0 selects a free port; {OFF}"
            " disables metrics. Default for `gateway`: 127.0.0.1:9465, for `worker`:"
            " 127.0.0.1:9466. If it is not set and the port is in use, a warning is logged and"
            " metrics are not served.",
        ),
        Setting(
            "workers",
            "1",
            "Number of processes that share the ports, from 1 to 64. SQLite supports only 1.",
        ),
        Setting(
            "database_url",
            "sqlite:///data/roster.db",
            "Database: sqlite:///PATH (sqlite:////PATH for an absolute path) or"
            " postgresql://USER:PASSWORD@HOST/NAME.",
        ),
        Setting(
            "database_pool",
            "8",
            "PostgreSQL connections per process, from 2 to 100. Half of them serve reads."
            " Default for `worker`: 4. Ignored with SQLite.",
        ),
        Setting(
            "bootstrap_api_key",
            "",
            "API key for the first account, used only when the database is empty. Default: a random"
            " key, printed once.",
        ),
        Setting(
            "secret_key",
            "",
            "32 bytes in base64 that key hashes and encrypt secrets in the database. Default"
            " with SQLite: a key generated in a file next to the database. Required with"
            " PostgreSQL.",
        ),
        Setting(
            "backup_folder",
            "",
            "Folder for hourly backups of a SQLite database, used by this database only. The latest"
            " backup of each of the last 24 hours and 7 days is retained. Empty: no backups.",
        ),
        Setting(
            "http_channel",
            IN_PROCESS,
            f"How the HTTP gateway calls the services: {IN_PROCESS}, or {OVER_GRPC} (through the"
            " gRPC port).",
        ),
        Setting(
            "rate_limit",
            "",
            "Token bucket per account as CALLS/SECONDS, such as 100/1: at most CALLS at once,"
            f" refilled evenly over SECONDS (at most {MAX_RATE_LIMIT_SECONDS}). Empty: no limit.",
        ),
        Setting(
            "webhook_allow_nets",
            "",
            "Non-public networks that webhooks may connect to, separated by commas, such as"
            " 10.0.0.0/8. Any holder of an API key can make this service connect to them. Empty:"
            " public addresses only.",
        ),
        Setting(
            "webhook_allow_http",
            FALSE,
            f"{TRUE} allows webhooks to http:// URLs, whose content is readable on the network.",
        ),
        Setting(
            "trusted_proxies",
            "",
            "Addresses or networks of reverse proxies, separated by commas, such as 10.0.0.0/8."
            " Their X-Forwarded-For header determines the client address to which failed"
            " authentication attempts are counted. Empty: the header is ignored.",
        ),
        Setting(
            "log_level",
            "info",
            "Minimum level that is logged: debug, info (includes a line per call), warning or"
            " error.",
        ),
        Setting(
            "log_format",
            "auto",
            "json, text, or auto: text if standard error is a terminal, otherwise JSON.",
        ),
        Setting(
            "tracing",
            "",
            f"{OTLP} exports OpenTelemetry spans; the OTEL_* environment variables configure the"
            " exporter. Empty: tracing is disabled.",
        ),
        Setting(
            "upstream",
            "127.0.0.1:50051",
            "gRPC servers that a gateway calls: HOST:PORT, dns:///HOST:PORT (all addresses of the"
            " name) or ipv4:HOST:PORT,HOST:PORT.",
        ),
        Setting(
            "http_tls_certificate",
            "",
            "PEM file with the certificate chain of the HTTP port. Empty: HTTP without TLS.",
        ),
        Setting("http_tls_key", "", "PEM file with the private key of that certificate."),
        Setting(
            "grpc_tls_certificate",
            "",
            "PEM file with the certificate chain of the gRPC port. Empty: gRPC without TLS.",
        ),
        Setting("grpc_tls_key", "", "PEM file with the private key of that certificate."),
        Setting(
            "grpc_tls_client_ca",
            "",
            "PEM file with the CA certificates that must have signed the certificate of a gRPC"
            " client. Empty: clients need no certificate.",
        ),
        Setting(
            "metrics_tls_certificate",
            "",
            "PEM file with the certificate chain of the metrics port. Empty: metrics without TLS.",
        ),
        Setting("metrics_tls_key", "", "PEM file with the private key of that certificate."),
        Setting(
            "upstream_tls_ca",
            "",
            "PEM file with the CA certificates that a gateway trusts to sign the certificates of"
            f" its servers, or {PUBLIC} for the public CAs. Empty: no TLS to the servers.",
        ),
        Setting(
            "upstream_tls_certificate",
            "",
            "PEM file with the client certificate that a gateway presents to its servers. Empty:"
            " none.",
        ),
        Setting("upstream_tls_key", "", "PEM file with the private key of that certificate."),
        Setting(
            "dangerously_in_plaintext",
            FALSE,
            f"{TRUE} allows API keys and email addresses to leave this machine without TLS,"
            " readable by anyone on the network path.",
        ),
    )
}


# Variables that Kubernetes sets in every container for a service named "roster" or "roster-...".
_KUBERNETES_VARIABLE = re.compile(
    r".*_SERVICE_HOST=.*|.*_SERVICE_PORT(_.*)?=.*|.*_PORT=\w+://.*|.*_PORT_\d+_[A-Z]+(_.*)?=.*"
)


def unknown_variables(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Returns each variable with the prefix ROSTER_ that is not a setting and the nearest setting.

    Variables that Kubernetes sets are omitted.
    """
    known = [API_KEY, *(setting.environment for setting in SETTINGS.values())]
    # The common prefix is removed: it would make all names similar.
    words = {name.removeprefix(PREFIX): name for name in known}
    return {
        name: next(map(words.get, get_close_matches(name.removeprefix(PREFIX), words, n=1)), None)
        for name, value in sorted(environment.items())
        if name.startswith(PREFIX)
        and name not in known
        and not _KUBERNETES_VARIABLE.fullmatch(f"{name}={value}")
    }


class SettingError(ValueError):
    """A setting has an invalid value. The message names the setting and the reason."""


class Rate(NamedTuple):
    """A number of calls per number of seconds."""

    calls: int
    seconds: int


def parse_rate_limit(text: str) -> Rate | None:
    """Parses CALLS/SECONDS; returns None for an empty text. Raises SettingError."""
    if not text:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,4})", text)
    if match is None or int(match[2]) > MAX_RATE_LIMIT_SECONDS:
        raise SettingError(
            f"{SETTINGS['rate_limit'].environment} must be CALLS/SECONDS, such as 100/1, with at"
            f" most {MAX_RATE_LIMIT_SECONDS} seconds, or empty, not {text!r}."
        )
    return Rate(int(match[1]), int(match[2]))


Network = IPv4Network | IPv6Network


def parse_trusted_proxies(text: str) -> tuple[Network, ...]:
    """Parses addresses and networks separated by commas. Raises SettingError."""
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise SettingError(
            f"{SETTINGS['trusted_proxies'].environment} must be addresses or networks, such as"
            f" 10.0.0.0/8, separated by commas: {error}."
        ) from None


class PostgresUrl(NamedTuple):
    """The URL of a PostgreSQL database. Its string form omits the password."""

    url: str

    def __str__(self) -> str:
        url = urlsplit(self.url)
        user, at, host = url.netloc.rpartition("@")
        return f"{url.scheme}://{user.partition(':')[0]}{at}{host}{url.path}"


Place = Path | PostgresUrl


def parse_database_url(text: str) -> Place:
    """Returns the path of a SQLite file (absolute after four slashes) or a PostgreSQL URL.

    Raises SettingError, whose message omits the password.
    """
    url = urlsplit(text)
    if url.scheme in ("postgresql", "postgres"):
        return PostgresUrl(text)
    path = unquote(url.path[1:])
    if url.scheme != "sqlite" or url.netloc or not path or url.query or url.fragment:
        raise SettingError(
            f"{SETTINGS['database_url'].environment} must be sqlite:///PATH or"
            f" postgresql://USER:PASSWORD@HOST/NAME, not {_without_password(text)!r}."
        )
    return Path(path)


def parse_backup_folder(text: str, place: Place) -> Path | None:
    """Returns the backup folder, or None for an empty text. Raises SettingError."""
    if not text:
        return None
    name = SETTINGS["backup_folder"].environment
    if isinstance(place, PostgresUrl):
        raise SettingError(f"{name} applies to SQLite only. {BACK_UP_POSTGRES.format(place)}")
    folder = Path(text)
    if not folder.is_dir():
        raise SettingError(f"{name} must be an existing folder, not {text!r}.")
    return folder


def _without_password(text: str) -> str:
    return re.sub(r":[^:/@]+@", ":...@", text)


def parse_database_pool(text: str) -> int:
    """Returns the number of connections of a process. Raises SettingError."""
    return _number("database_pool", text, 2, MAX_CONNECTIONS)


def parse_workers(text: str) -> int:
    """Returns the number of processes. Raises SettingError."""
    return _number("workers", text, 1, MAX_WORKERS)


def parse_networks(text: str) -> list[IPv4Network | IPv6Network]:
    """Returns the networks that webhooks may reach. Raises SettingError."""
    try:
        return [ip_network(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"{SETTINGS['webhook_allow_nets'].environment} must be networks separated by commas,"
            f" such as 10.0.0.0/8,fd00::/8: {error}."
        ) from None


def _number(name: str, text: str, least: int, most: int) -> int:
    if re.fullmatch(r"[0-9]{1,3}", text) is None or not least <= int(text) <= most:
        raise SettingError(
            f"{SETTINGS[name].environment} must be a number from {least} to {most}, not {text!r}."
        )
    return int(text)


def check_bootstrap_key(key: str) -> str:
    """Returns the key. Raises SettingError unless it is empty or a well-formed key."""
    if key and not is_well_formed(key):
        raise SettingError(
            f"{SETTINGS['bootstrap_api_key'].environment} is not an API key: rk_, 40 base62"
            f" characters and a CRC-32 checksum of 6. A valid, newly generated key: {make_secret()}"
        )
    return key


def check_secret_key(text: str) -> str:
    """Returns the key. Raises SettingError unless it is empty or 32 bytes in base64."""
    if text and parse_key(text) is None:
        raise SettingError(
            f"{SETTINGS['secret_key'].environment} must be 32 bytes in base64. A newly"
            f" generated key: {make_key()}"
        )
    return text


_BOOLEANS = {
    **dict.fromkeys((TRUE, "1", "yes", "on"), True),
    **dict.fromkeys((FALSE, "0", "no", "off"), False),
}


def parse_boolean(name: str, text: str) -> bool:
    """Returns the value of a boolean setting, in any letter case. Raises SettingError."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise SettingError(
            f"{SETTINGS[name].environment} must be {TRUE} or {FALSE} (or 1/0, yes/no, on/off),"
            f" not {text!r}."
        )
    return value


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Returns the value. Raises SettingError if it is not one of the choices."""
    if value not in choices:
        known = ", ".join(choice or "empty" for choice in choices)
        raise SettingError(f"{SETTINGS[name].environment} must be one of {known}, not {value!r}.")
    return value


def unknown_settings() -> list[str]:
    """Returns a warning for each ROSTER_ variable in the environment that is not a setting.

    Removes the variable from the environment, so that the worker processes, which inherit the
    environment, do not report it again.
    """
    warnings = []
    for name, similar in unknown_variables(os.environ).items():
        del os.environ[name]
        hint = f" Did you mean {similar}?" if similar else ""
        warnings.append(f"{name} is not a setting and is ignored.{hint}")
    return warnings
