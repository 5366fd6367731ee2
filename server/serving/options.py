"""Validates the settings of a process before anything is opened."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..config import (
    BACK_UP_POSTGRES,
    DATABASE,
    GRPC,
    HTTP,
    OTLP,
    OVER_GRPC,
    PUBLIC,
    SERVE_HTTP,
    TRUE,
    WORKER,
    Setting,
    SettingError,
    Settings,
)
from ..features.accounts.rules import is_well_formed, make_secret
from ..features.webhooks.egress.policy import EgressPolicy
from ..maintenance.backups import BackupSchedule
from ..observability.logs import is_text
from ..security.tls import ServerIdentity, TlsFiles, Trust, read_trust
from ..storage.database import StorageError
from ..values.addresses import Address
from ..values.database_url import PostgresUrl
from .role import Role
from .secret_key import check_secret_key


@dataclass(frozen=True)
class PortOptions:
    """The address of a port, and its TLS identity; None for plaintext."""

    address: Address
    identity: ServerIdentity | None


@dataclass(frozen=True)
class UpstreamOptions:
    """The servers of a gateway, and its TLS files; None for plaintext."""

    target: str
    tls: TlsFiles[Trust] | None


@dataclass(frozen=True)
class ObservabilityOptions:
    """The address of metrics (None: disabled), and what is logged and traced.

    `address_is_set` is false if the address is the default.
    """

    address: Address | None
    address_is_set: bool
    identity: ServerIdentity | None
    log_level: str
    log_sampling: int
    as_text: bool
    traces: bool


@dataclass(frozen=True)
class ProcessOptions:
    """The validated options of a process, whose `command` determines which ports it has."""

    command: str
    settings: Settings = field(repr=False)
    role: Role
    observability: ObservabilityOptions
    http: PortOptions | None = None
    grpc: PortOptions | None = None
    upstream: UpstreamOptions | None = None

    @property
    def addresses(self) -> dict[str, Address]:
        """The addresses of its ports for calls, by setting."""
        ports = {"http_address": self.http, "grpc_address": self.grpc}
        return {name: port.address for name, port in ports.items() if port is not None}

    @property
    def tls_files(self) -> list[TlsFiles[Any]]:
        """The TLS files of its ports and of its connections to servers."""
        files: list[TlsFiles[Any] | None] = [
            port.identity for port in (self.http, self.grpc, self.observability) if port
        ]
        files.append(self.upstream.tls if self.upstream else None)
        return [each for each in files if each is not None]


def process_options(command: str, settings: Settings, role: Role) -> ProcessOptions:
    """Raises SettingError, or StorageError for a worker of a SQLite file."""
    settings.validate()
    http = http_options(settings) if command in HTTP else None
    grpc = grpc_options(settings) if command in GRPC else None
    upstream = upstream_options(settings) if command == SERVE_HTTP else None
    if command in DATABASE:
        check_core(command, settings)
    if http and grpc and grpc.identity is not None and settings.http_channel == OVER_GRPC:
        raise SettingError(
            f"{Settings.http_channel.environment}={OVER_GRPC} requires a gRPC port without TLS. For"
            " a gRPC port with TLS, use `roster serve-http`."
        )
    observability = observability_options(settings)
    return ProcessOptions(command, settings, role, observability, http, grpc, upstream)


def http_options(settings: Settings) -> PortOptions:
    """Raises SettingError."""
    certificate, key = settings.http_tls_certificate, settings.http_tls_key
    identity = ServerIdentity("http_tls", certificate, key) if certificate or key else None
    if identity is None:
        check_plaintext(
            settings, Settings.http_address, [settings.http_address], Settings.http_tls_certificate
        )
    return PortOptions(settings.http_address, identity)


def grpc_options(settings: Settings) -> PortOptions:
    """Raises SettingError."""
    certificate, key = settings.grpc_tls_certificate, settings.grpc_tls_key
    client_ca = settings.grpc_tls_client_ca
    identity = (
        ServerIdentity("grpc_tls", certificate, key, client_ca) if certificate or key else None
    )
    if identity is None:
        check_plaintext(
            settings, Settings.grpc_address, [settings.grpc_address], Settings.grpc_tls_certificate
        )
    if client_ca and identity is None:
        raise SettingError(
            f"{Settings.grpc_tls_client_ca.environment} requires"
            f" {Settings.grpc_tls_certificate.environment} and"
            f" {Settings.grpc_tls_key.environment}."
        )
    return PortOptions(settings.grpc_address, identity)


def upstream_options(settings: Settings) -> UpstreamOptions:
    """Raises SettingError."""
    upstream, ca = settings.upstream, settings.upstream_tls_ca
    if not ca:
        check_plaintext(settings, Settings.upstream, upstream.addresses, Settings.upstream_tls_ca)
    certificate, key = settings.upstream_tls_certificate, settings.upstream_tls_key
    paths = {
        "upstream_tls_ca": "" if ca == PUBLIC else ca,
        "upstream_tls_certificate": certificate,
        "upstream_tls_key": key,
    }
    files = TlsFiles(paths, partial(read_trust, "upstream_tls", *paths.values()))
    if files.current.identity is not None and not ca:
        raise SettingError(
            f"{Settings.upstream_tls_certificate.environment} requires TLS: set"
            f" {Settings.upstream_tls_ca.environment}."
        )
    return UpstreamOptions(upstream.target, files if ca else None)


def check_plaintext(
    settings: Settings,
    setting: Setting[Any],
    addresses: Iterable[Address],
    remedy: Setting[str],
    data: str = "API keys",
) -> None:
    """Raises SettingError if `data` would leave this machine without TLS.

    `setting` contains the addresses, and `remedy` enables TLS.
    """
    remote = [address for address in addresses if not address.is_loopback]
    if remote and not settings.dangerously_in_plaintext:
        raise SettingError(
            f"{setting.environment} is not a loopback address ({remote[0]}): without TLS, anyone on"
            f" the network path can read {data}. Set {remedy.environment} for TLS, or"
            f" {Settings.dangerously_in_plaintext.environment}={TRUE}."
        )


def observability_options(settings: Settings) -> ObservabilityOptions:
    """Raises SettingError."""
    address = settings.metrics_address
    certificate, key = settings.metrics_tls_certificate, settings.metrics_tls_key
    identity = ServerIdentity("metrics_tls", certificate, key) if certificate or key else None
    if address is not None and identity is None:
        check_plaintext(
            settings,
            Settings.metrics_address,
            [address],
            Settings.metrics_tls_certificate,
            "its metrics",
        )
    return ObservabilityOptions(
        address=address,
        address_is_set="metrics_address" in settings.explicit,
        identity=identity,
        log_level=settings.log_level,
        log_sampling=settings.log_sampling,
        as_text=is_text(settings.log_format, sys.stderr),
        traces=settings.tracing == OTLP,
    )


def check_core(command: str, settings: Settings) -> None:
    """Raises SettingError, or StorageError for a worker of a SQLite file."""
    database = settings.database_url
    if isinstance(database, Path):
        if command == WORKER:
            raise StorageError(
                f"{database} is a SQLite file, which only one process can use at a time. Its"
                " service does the background work. Workers require PostgreSQL."
            )
        if settings.processes > 1:
            raise SettingError(
                f"{Settings.processes.environment} must be 1 with SQLite, because only one process"
                f" can serve a file, not {settings.processes}. Use PostgreSQL for several."
            )
    key = settings.bootstrap_api_key
    if key and not is_well_formed(key):
        raise SettingError(
            f"{Settings.bootstrap_api_key.environment} is not an API key: rk_, 40 base62"
            f" characters and a CRC-32 checksum of 6. A valid, newly generated key: {make_secret()}"
        )
    check_secret_key(settings.secret_key)
    backup_schedule(settings)


def egress_policy(settings: Settings) -> EgressPolicy:
    return EgressPolicy(settings.webhook_allow_nets, http=settings.webhook_allow_http)


def backup_schedule(settings: Settings) -> BackupSchedule | None:
    """Raises SettingError."""
    database, folder = settings.database_url, settings.backup_folder
    if isinstance(database, PostgresUrl) and folder is not None:
        raise SettingError(
            f"{Settings.backup_folder.environment} applies to SQLite only."
            f" {BACK_UP_POSTGRES.format(database)}"
        )
    return (
        BackupSchedule(database, folder)
        if folder is not None and isinstance(database, Path)
        else None
    )
