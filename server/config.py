"""Declares the settings. A setting is one row of the class Settings.

The row states the default, the type with its validation, the help text and the commands of the
setting. The flag, the environment variable, the typed attribute, `roster settings` and the table
in `deploy/README.md` are derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, overload

from .values.addresses import parse_address, parse_upstream
from .values.database_url import parse_database_url

IN_PROCESS = "in-process"
OVER_GRPC = "grpc"
OTLP = "otlp"
# Turns off what a setting enables.
OFF = "off"
# Selects the public CA certificates that gRPC contains, instead of a file.
PUBLIC = "public"
TRUE, FALSE = "true", "false"
AUTO, JSON, TEXT = "auto", "json", "text"
PREFIX = "ROSTER_"
# The API key of commands that call a running service. It is not a setting of the service.
API_KEY = f"{PREFIX}API_KEY"
URL = f"{PREFIX}URL"
# The new key of `roster secret-key rotate`.
NEW_SECRET_KEY = f"{PREFIX}NEW_SECRET_KEY"
# The end of the name of a variable that names a file with the value of a secret setting.
FILE = "_FILE"
# Buckets are stored in memory, so a restart would reset a limit over more than a day.
MAX_RATE_LIMIT_SECONDS = 86_400
BACK_UP_POSTGRES = "Use pg_dump or pg_basebackup to back up {}."

Value = TypeVar("Value")
ValueIfOff = TypeVar("ValueIfOff")
Network = IPv4Network | IPv6Network

# The commands that a setting applies to.
SERVE, SERVE_GRPC, SERVE_HTTP, WORKER = "serve", "serve-grpc", "serve-http", "worker"
HTTP = (SERVE, SERVE_HTTP)
GRPC = (SERVE, SERVE_GRPC)
DATABASE = (SERVE, SERVE_GRPC, WORKER)
PORTS = (SERVE, SERVE_GRPC, SERVE_HTTP)
ALL = (SERVE, SERVE_GRPC, SERVE_HTTP, WORKER)


class SettingError(ValueError):
    """A setting has an invalid value. The message names the setting and the reason."""


class Rate(NamedTuple):
    """A number of calls per number of seconds."""

    calls: int
    seconds: int


def parse_rate_limit(text: str) -> Rate:
    match = re.fullmatch(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,4})", text)
    if match is None or int(match[2]) > MAX_RATE_LIMIT_SECONDS:
        raise ValueError(
            f"must be CALLS/SECONDS, such as 100/1, with at most {MAX_RATE_LIMIT_SECONDS} seconds,"
            f" not {text!r}."
        )
    return Rate(int(match[1]), int(match[2]))


def parse_networks(text: str) -> tuple[Network, ...]:
    try:
        return tuple(map(ip_network, _listed(text) or [text]))
    except ValueError as error:
        raise ValueError(
            f"must be addresses or networks separated by commas, such as 10.0.0.0/8: {error}."
        ) from None


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


_HOST = r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
_PUBLIC_URL = re.compile(rf"https?://{_HOST}(/[A-Za-z0-9._~%/-]*)?")
_ORIGIN = re.compile(rf"https?://{_HOST}")


def parse_public_url(text: str) -> str:
    if text and _PUBLIC_URL.fullmatch(text) is None:
        raise ValueError(
            "must be an http or https URL without user, query and fragment, such as"
            f" https://news.example.com, not {text!r}."
        )
    return text.rstrip("/")


def parse_origins(text: str) -> frozenset[str]:
    origins = frozenset(_listed(text.lower()) or [text])
    for origin in origins - {"*"}:
        if _ORIGIN.fullmatch(origin) is None:
            raise ValueError(
                "must be origins separated by commas, such as https://www.example.com, or *, not"
                f" {origin!r}."
            )
        if origin.endswith({"https": ":443", "http:": ":80"}[origin[:5]]):
            raise ValueError(f"must not contain the default port: {origin!r}.")
    return origins


def parse_folder(text: str) -> Path:
    if not text or not Path(text).is_dir():
        raise ValueError(f"must be an existing folder, not {text!r}.")
    return Path(text)


def parse_file_name(text: str) -> str:
    if not text:
        raise ValueError("must be the name of a file, not empty.")
    return text


def or_off(
    parse: Callable[[str], Value], value_if_off: ValueIfOff
) -> Callable[[str], Value | ValueIfOff]:
    """Returns a parser that returns this value for `off`."""

    def parse_or_off(text: str) -> Value | ValueIfOff:
        if text == OFF:
            return value_if_off
        try:
            return parse(text)
        except ValueError as error:
            raise ValueError(f"{error} To turn it off, use {OFF}.") from None

    return parse_or_off


_BOOLEANS = {
    **dict.fromkeys((TRUE, "1", "yes", "on"), True),
    **dict.fromkeys((FALSE, "0", "no", "off"), False),
}


def parse_boolean(text: str) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise ValueError(f"must be {TRUE} or {FALSE} (or 1/0, yes/no, on/off), not {text!r}.")
    return value


def number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Returns a parser of whole numbers in a range."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,3}", text) is None or not minimum <= int(text) <= maximum:
            raise ValueError(f"must be a number from {minimum} to {maximum}, not {text!r}.")
        return int(text)

    return parse


def choice(*choices: str) -> Callable[[str], str]:
    """Returns a parser that accepts these texts."""

    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {text!r}.")
        return text

    return parse


_FILE_OR_OFF = or_off(parse_file_name, "")


class Setting(Generic[Value]):
    """A setting.

    `parse` returns the value of a text, or raises ValueError with a message that continues the
    name of the setting. `defaults` has the commands whose default differs from `default`. A secret
    can be read from a file (see `serving/environment.py`).
    """

    name: str

    def __init__(
        self,
        default: str,
        parse: Callable[[str], Value],
        help: str,
        commands: Collection[str],
        *,
        defaults: Mapping[str, str] | None = None,
        is_secret: bool = False,
    ) -> None:
        self.default = default
        self.commands = commands
        self.is_secret = is_secret
        defaults = defaults or {}
        others = ", for ".join(f"`{command}`: {text}" for command, text in defaults.items())
        self._help = f"{help} Default for {others}." if others else help
        self._parse = parse
        self._defaults = defaults

    def __set_name__(self, owner: type[Settings], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[Settings]) -> Setting[Value]: ...

    @overload
    def __get__(self, instance: Settings, owner: type[Settings]) -> Value: ...

    def __get__(self, instance: Settings | None, owner: type[Settings]) -> Setting[Value] | Value:
        return self if instance is None else self.parse(instance.texts.get(self.name, self.default))

    @property
    def help(self) -> str:
        file = f" {self.environment}{FILE} names a file that contains it."
        return f"{self._help}{file if self.is_secret else ''}"

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return f"{PREFIX}{self.name.upper()}"

    @property
    def flag(self) -> str:
        """The flag that sets it. It takes precedence over the environment variable."""
        return f"--{self.name.replace('_', '-')}"

    def default_of(self, command: str) -> str:
        return self._defaults.get(command, self.default)

    def parse(self, text: str) -> Value:
        """Returns the value of a text. Raises SettingError."""
        try:
            return self._parse(text)
        except ValueError as error:
            raise SettingError(f"{self.environment} {error}") from None


class Settings:
    """The settings of a process. Reading an attribute parses it, and can raise SettingError.

    `texts` contains the unparsed values by name, and `explicit` the names that were set.
    """

    def __init__(self, texts: Mapping[str, str], explicit: Collection[str] = ()) -> None:
        self.texts = texts
        self.explicit = explicit

    def validate(self) -> None:
        """Raises SettingError for the first invalid setting."""
        for name, text in self.texts.items():
            SETTINGS[name].parse(text)

    http_address = Setting(
        "127.0.0.1:8080",
        parse_address,
        "HOST:PORT on which JSON over HTTP is served. Port 0 selects a free port.",
        HTTP,
    )
    grpc_address = Setting(
        "127.0.0.1:50051",
        parse_address,
        "HOST:PORT on which gRPC is served. Port 0 selects a free port.",
        GRPC,
    )
    metrics_address = Setting(
        "127.0.0.1:9464",
        or_off(parse_address, None),
        "HOST:PORT on which Prometheus metrics are served. Port 0 selects a free port."
        " off: no metrics. If it is not set and the port is in use, a warning is logged and"
        " metrics are not served.",
        ALL,
        defaults={SERVE_HTTP: "127.0.0.1:9465", WORKER: "127.0.0.1:9466"},
    )
    processes = Setting(
        "1",
        number(1, 64),
        "Number of processes that share the ports, from 1 to 64. SQLite supports only 1.",
        PORTS,
    )
    database_url = Setting(
        "sqlite:///data/roster.db",
        parse_database_url,
        "Database: sqlite:///PATH (sqlite:////PATH for an absolute path) or"
        " postgresql://USER:PASSWORD@HOST/NAME.",
        DATABASE,
        is_secret=True,
    )
    database_pool = Setting(
        "8",
        number(2, 100),
        "PostgreSQL connections per process, from 2 to 100. Half of them serve reads. Ignored with"
        " SQLite.",
        DATABASE,
        defaults={WORKER: "4"},
    )
    bootstrap_api_key = Setting(
        "",
        str,
        "API key for the first account, used only when the database is empty. Default: a random"
        " key, printed once.",
        GRPC,
        is_secret=True,
    )
    secret_key = Setting(
        "",
        str,
        "32 bytes in base64. It encrypts the stored data keys, which are used for webhook secrets,"
        " links and hashes of addresses. Default with SQLite: a key generated in a file next to"
        " the database. Required with PostgreSQL.",
        DATABASE,
        is_secret=True,
    )
    backup_folder = Setting(
        OFF,
        or_off(parse_folder, None),
        "Folder for hourly backups of a SQLite database, used by this database only. The latest"
        " backup of each of the last 24 hours and 7 days is retained. off: no backups.",
        GRPC,
    )
    http_channel = Setting(
        IN_PROCESS,
        choice(IN_PROCESS, OVER_GRPC),
        f"How the HTTP gateway calls the services: {IN_PROCESS}, or {OVER_GRPC} (through the gRPC"
        " port).",
        (SERVE,),
    )
    rate_limit = Setting(
        OFF,
        or_off(parse_rate_limit, None),
        "Token bucket per account as CALLS/SECONDS, such as 100/1: at most CALLS at once, refilled"
        f" evenly over SECONDS (at most {MAX_RATE_LIMIT_SECONDS}). off: no limit.",
        GRPC,
    )
    public_url = Setting(
        "",
        parse_public_url,
        "URL under which people reach the HTTP port, such as https://news.example.com. It begins"
        " the links that confirm, unsubscribe and sign in, and its path is that of the session"
        " cookie. Default: the address of the HTTP port; without one, links cannot be created.",
        PORTS,
    )
    signup_rate_limit = Setting(
        "20/60",
        or_off(parse_rate_limit, None),
        "Token bucket per client address as CALLS/SECONDS for sign-ups with keys of scope signup."
        " Each key has 50 times as many. off: no limit.",
        GRPC,
    )
    cors_origins = Setting(
        OFF,
        or_off(parse_origins, frozenset[str]()),
        "Origins, separated by commas, whose web pages can send sign-ups by script, and to which"
        " sign-up forms can redirect, such as https://www.example.com. * allows scripts of any, and"
        " no redirect. off: none.",
        HTTP,
    )
    webhook_allow_nets = Setting(
        OFF,
        or_off(parse_networks, ()),
        "Non-public networks that webhooks may connect to, separated by commas, such as"
        " 10.0.0.0/8. Any holder of an API key can make this service connect to them. off:"
        " public addresses only.",
        DATABASE,
    )
    webhook_allow_http = Setting(
        FALSE,
        parse_boolean,
        f"{TRUE} allows webhooks to http:// URLs, whose content is readable on the network.",
        DATABASE,
    )
    trusted_proxies = Setting(
        OFF,
        or_off(parse_networks, ()),
        "Addresses or networks of reverse proxies, separated by commas, such as 10.0.0.0/8. Their"
        " X-Forwarded-For header determines the client address to which failed authentication"
        " attempts and sign-ups are counted, and which the log, the history and the audit log"
        " state. Their X-Forwarded-Proto header determines whether a browser that signs in uses"
        " HTTPS. off: the headers are ignored.",
        PORTS,
    )
    log_level = Setting(
        "info",
        choice("debug", "info", "warning", "error"),
        "Minimum level that is logged: debug, info (includes a line per call), warning (includes"
        " calls that fail because of the service) or error.",
        ALL,
    )
    log_sampling = Setting(
        "1",
        number(0, 999),
        "One in this many of the calls and webhook deliveries that succeed is logged; 0: none."
        " Those that fail are always logged.",
        ALL,
    )
    log_format = Setting(
        AUTO,
        choice(AUTO, JSON, TEXT),
        f"{JSON}, {TEXT}, or {AUTO}: {TEXT} if standard error is a terminal, otherwise JSON.",
        ALL,
    )
    tracing = Setting(
        OFF,
        or_off(choice(OTLP), OFF),
        f"{OTLP} exports OpenTelemetry spans; the OTEL_* environment variables configure the"
        " exporter. off: no tracing.",
        PORTS,
    )
    upstream = Setting(
        "127.0.0.1:50051",
        parse_upstream,
        "gRPC servers that a gateway calls: HOST:PORT, dns:///HOST:PORT (all addresses of the"
        " name) or ipv4:HOST:PORT,HOST:PORT.",
        (SERVE_HTTP,),
    )
    http_tls_certificate = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the certificate chain of the HTTP port. off: HTTP without TLS.",
        HTTP,
    )
    http_tls_key = Setting("", str, "PEM file with the private key of that certificate.", HTTP)
    grpc_tls_certificate = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the certificate chain of the gRPC port. off: gRPC without TLS.",
        GRPC,
    )
    grpc_tls_key = Setting("", str, "PEM file with the private key of that certificate.", GRPC)
    grpc_tls_client_ca = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the CA certificates that must have signed the certificate of a gRPC client."
        " off: clients need no certificate.",
        GRPC,
    )
    metrics_tls_certificate = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the certificate chain of the metrics port. off: metrics without TLS.",
        ALL,
    )
    metrics_tls_key = Setting("", str, "PEM file with the private key of that certificate.", ALL)
    upstream_tls_ca = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the CA certificates that a gateway trusts to sign the certificates of its"
        f" servers, or {PUBLIC} for the public CAs. off: no TLS to the servers.",
        (SERVE_HTTP,),
    )
    upstream_tls_certificate = Setting(
        OFF,
        _FILE_OR_OFF,
        "PEM file with the client certificate that a gateway presents to its servers. off: none.",
        (SERVE_HTTP,),
    )
    upstream_tls_key = Setting(
        "", str, "PEM file with the private key of that certificate.", (SERVE_HTTP,)
    )
    dangerously_in_plaintext = Setting(
        FALSE,
        parse_boolean,
        f"{TRUE} allows API keys and email addresses to leave this machine without TLS, readable by"
        " anyone on the network path.",
        ALL,
    )


SETTINGS: Mapping[str, Setting[Any]] = {
    name: row for name, row in vars(Settings).items() if isinstance(row, Setting)
}
