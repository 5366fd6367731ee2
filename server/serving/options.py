"""Validates the settings of a process before anything is opened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..config import (
    BACK_UP_POSTGRES,
    PUBLIC,
    TRUE,
    Network,
    Rate,
    Setting,
    SettingError,
    Settings,
)
from ..features.accounts.rules import is_well_formed, make_secret
from ..features.webhooks.egress.policy import EgressPolicy
from ..maintenance.backups import BackupSchedule
from ..security.tls import Identity, ServerIdentity, read_authorities, read_identity
from ..values.addresses import Address
from ..values.database_url import DatabaseLocation, PostgresUrl
from .secret_key import check_secret_key


@dataclass(frozen=True)
class PortOptions:
    """The address of a port, and its TLS identity; None for plaintext."""

    address: Address
    identity: ServerIdentity | None


@dataclass(frozen=True)
class UpstreamOptions:
    """How a gateway connects to its servers.

    `authorities` are the CA certificates that it trusts; None selects the public ones. `identity`
    is its client certificate.
    """

    target: str
    encrypted: bool
    authorities: bytes | None
    identity: Identity | None


@dataclass(frozen=True)
class CoreOptions:
    """The options of the services."""

    database: DatabaseLocation
    connections: int
    bootstrap_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    backups: BackupSchedule | None
    rate_limit: Rate | None
    signup_rate_limit: Rate | None
    public_url: str
    egress_policy: EgressPolicy
    proxies: tuple[Network, ...]

    @property
    def folder(self) -> Path | None:
        """The folder of the database file; None for a database server."""
        return self.database.parent if isinstance(self.database, Path) else None


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
    identity = read_identity("upstream_tls", certificate, key) if certificate or key else None
    if identity is not None and not ca:
        raise SettingError(
            f"{Settings.upstream_tls_certificate.environment} requires TLS: set"
            f" {Settings.upstream_tls_ca.environment}."
        )
    authorities = read_authorities("upstream_tls_ca", ca) if ca not in ("", PUBLIC) else None
    return UpstreamOptions(upstream.target, bool(ca), authorities, identity)


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


def core_options(settings: Settings) -> CoreOptions:
    """Raises SettingError."""
    database = settings.database_url
    if isinstance(database, Path) and settings.workers > 1:
        raise SettingError(
            f"{Settings.workers.environment} must be 1 with SQLite, because only one process can"
            f" serve a file, not {settings.workers}. Use PostgreSQL for several processes."
        )
    return CoreOptions(
        database=database,
        connections=settings.database_pool,
        bootstrap_key=_bootstrap_key(settings),
        secret_key=check_secret_key(settings.secret_key),
        backups=_schedule(settings, database),
        rate_limit=settings.rate_limit,
        signup_rate_limit=settings.signup_rate_limit,
        public_url=settings.public_url,
        egress_policy=egress_policy(settings),
        proxies=settings.trusted_proxies,
    )


def egress_policy(settings: Settings) -> EgressPolicy:
    """Raises SettingError."""
    return EgressPolicy(settings.webhook_allow_nets, http=settings.webhook_allow_http)


def _bootstrap_key(settings: Settings) -> str:
    key = settings.bootstrap_api_key
    if key and not is_well_formed(key):
        raise SettingError(
            f"{Settings.bootstrap_api_key.environment} is not an API key: rk_, 40 base62"
            f" characters and a CRC-32 checksum of 6. A valid, newly generated key: {make_secret()}"
        )
    return key


def _schedule(settings: Settings, database: DatabaseLocation) -> BackupSchedule | None:
    if isinstance(database, PostgresUrl) and settings.texts.get("backup_folder"):
        raise SettingError(
            f"{Settings.backup_folder.environment} applies to SQLite only."
            f" {BACK_UP_POSTGRES.format(database)}"
        )
    folder = settings.backup_folder
    return (
        BackupSchedule(database, folder)
        if folder is not None and isinstance(database, Path)
        else None
    )
