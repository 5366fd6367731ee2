"""Starts a service in this process, or supervises several processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..config import Settings
from ..security.tls import ServerIdentity
from ..values.addresses import Address
from .observability_options import ObservabilityOptions, observability_options
from .process import Service, run
from .reserved_ports import check_ports
from .role import Role
from .supervisor import supervise


def launch(
    command: str,
    settings: Settings,
    role: Role,
    addresses: Mapping[str, Address],
    service: Callable[[ObservabilityOptions], Service],
    identities: Iterable[ServerIdentity | None],
) -> None:
    """Runs a service until a signal stops it.

    `addresses` are those of its ports by setting, and `identities` the TLS identities of the
    ports. Raises SettingError, PortInUse or StorageError, and SystemExit with several processes.
    """
    observability = observability_options(settings)
    workers = settings.workers
    if role is Role.ALONE:
        observability = check_ports(addresses, observability)
        if workers > 1:
            raise SystemExit(supervise(command, workers, settings, addresses, observability))
    run(service(observability), role, identities=(*identities, observability.identity))
