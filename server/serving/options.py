"""What the commands that serve were told, checked: nothing is opened before all of it is good."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..addresses import Address, Upstream, check_plaintext, parse_address
from ..config import (
    PUBLIC,
    Network,
    Place,
    PostgresUrl,
    Rate,
    SettingError,
    check_bootstrap_key,
    check_secret_key,
    parse_backup_folder,
    parse_boolean,
    parse_database_pool,
    parse_database_url,
    parse_networks,
    parse_rate_limit,
    parse_trusted_proxies,
    parse_workers,
)
from ..maintenance.backups import BackupSchedule
from ..tls import Identity, ServerIdentity, read_authorities, read_identity
from ..webhooks.egress.policy import EgressPolicy


@dataclass(frozen=True)
class HttpOptions:
    """Where HTTP is served, and as whom; without an identity in plaintext."""

    address: Address
    identity: ServerIdentity | None


@dataclass(frozen=True)
class GrpcOptions:
    """Where gRPC is served, and with which identity; without one in plaintext."""

    address: Address
    identity: ServerIdentity | None


@dataclass(frozen=True)
class UpstreamOptions:
    """Where the servers are, whom a gateway trusts to be one, and what it shows to them.

    Without `authorities` they are those that everybody trusts.
    """

    target: str
    encrypted: bool
    authorities: bytes | None
    identity: Identity | None


@dataclass(frozen=True)
class CoreOptions:
    """What the services behind a port are made with."""

    database: Place
    connections: int
    bootstrap_key: str = field(repr=False)
    secret_key: str = field(repr=False)
    backups: BackupSchedule | None
    rate_limit: Rate | None
    egress_policy: EgressPolicy
    proxies: tuple[Network, ...]

    @property
    def folder(self) -> Path | None:
        """Where the database grows; None where that is another machine's affair."""
        return self.database.parent if isinstance(self.database, Path) else None


def http_options(address: str, certificate: str, key: str, *, risk: bool) -> HttpOptions:
    """Checks what is said of the HTTP port. Raises SettingError."""
    place = parse_address("http_address", address)
    identity = ServerIdentity("http_tls", certificate, key) if certificate or key else None
    if identity is None:
        check_plaintext("http_address", [place], "http_tls_certificate", risk=risk)
    return HttpOptions(place, identity)


def grpc_options(
    address: str, certificate: str, key: str, client_ca: str, *, risk: bool
) -> GrpcOptions:
    """Checks what is said of the gRPC port. Raises SettingError."""
    place = parse_address("grpc_address", address)
    identity = (
        ServerIdentity("grpc_tls", certificate, key, client_ca) if certificate or key else None
    )
    if identity is None:
        check_plaintext("grpc_address", [place], "grpc_tls_certificate", risk=risk)
    if client_ca and identity is None:
        raise SettingError(
            "ROSTER_GRPC_TLS_CLIENT_CA asks callers for certificates, which takes"
            " ROSTER_GRPC_TLS_CERTIFICATE and ROSTER_GRPC_TLS_KEY."
        )
    return GrpcOptions(place, identity)


def upstream_options(servers: Upstream, ca: str, certificate: str, key: str) -> UpstreamOptions:
    """Checks whom a gateway trusts, and what it shows. Raises SettingError."""
    identity = read_identity("upstream_tls", certificate, key) if certificate or key else None
    if identity is not None and not ca:
        raise SettingError(
            "ROSTER_UPSTREAM_TLS_CERTIFICATE is shown over TLS alone, which takes"
            " ROSTER_UPSTREAM_TLS_CA."
        )
    authorities = read_authorities("upstream_tls_ca", ca) if ca not in ("", PUBLIC) else None
    return UpstreamOptions(servers.target, bool(ca), authorities, identity)


def core_options(
    *,
    database_url: str,
    database_pool: str,
    bootstrap_api_key: str,
    secret_key: str,
    backup_folder: str,
    rate_limit: str,
    egress_policy: EgressPolicy,
    trusted_proxies: str,
) -> CoreOptions:
    """Checks what is said of the services. Raises SettingError."""
    place = parse_database_url(database_url)
    return CoreOptions(
        database=place,
        connections=parse_database_pool(database_pool),
        bootstrap_key=check_bootstrap_key(bootstrap_api_key),
        secret_key=check_secret_key(secret_key),
        backups=_schedule(backup_folder, place),
        rate_limit=parse_rate_limit(rate_limit),
        egress_policy=egress_policy,
        proxies=parse_trusted_proxies(trusted_proxies),
    )


def egress_policy_option(networks: str, http: str) -> EgressPolicy:
    """Returns what webhooks may reach. Raises SettingError."""
    return EgressPolicy(
        parse_networks(networks),
        http=parse_boolean("webhook_allow_http", http),
    )


def _schedule(folder: str, place: Place) -> BackupSchedule | None:
    parsed = parse_backup_folder(folder, place)
    return BackupSchedule(place, parsed) if parsed is not None and isinstance(place, Path) else None


def worker_count(text: str, core: CoreOptions | None) -> int:
    """Returns how many processes are to serve. Raises SettingError where only one can."""
    count = parse_workers(text)
    if count > 1 and core is not None and not isinstance(core.database, PostgresUrl):
        raise SettingError(
            f"ROSTER_WORKERS is {count}, and SQLite has one: a file is served by one process,"
            " whose one writer makes its speed. Several processes take a PostgreSQL database."
        )
    return count
